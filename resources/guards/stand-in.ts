import { rfc3339 } from '../ambient/clock.ts';
import type { VM } from '../kinds/vm.ts';
import { setConditions } from '../meta/condition.ts';
import type { AdmissionContext, CompanionWrite } from '../meta/define-kind.ts';
import { jsonEqual } from '../meta/object.ts';
import { type Change, type Guard, NO_FENCES } from './guard.ts';
import { VMS } from './refs.ts';
import type { WorldView } from './world.ts';

/*
 * A VM is moved by a stand-in: a VM like it that placement puts on another host. When that one is ready the two change guests in one transaction, with all
 * that is known of them, so at every moment each guest is one VM's and each VM's status is about its own. The stand-in is deleted by the same write: it ends
 * the old guest as any VM that is deleted ends its own.
 */

const VM_REF = { group: 'coppice.dev', version: 'v1', plural: 'vms', kind: 'VM', namespaced: true } as const;

/** Of a binding that does not say which it is. */
const FIRST_EPOCH = 1;

/** The VM that one stands in for, while there is that very one. */
export function originalOf(standIn: VM, world: WorldView): VM | undefined {
  const { standsInFor } = standIn.spec;
  if (standsInFor === undefined) return undefined;
  const vm = world.get(VMS, standIn.metadata.namespace, standsInFor.name);
  return vm?.metadata.uid === standsInFor.uid ? vm : undefined;
}

/** The stand-in whose guest a change makes its VM's. */
function takenBy({ before, after }: Change<VM>, world: WorldView): VM | undefined {
  if (before === undefined || after === undefined || before.spec.guestID === after.spec.guestID) return undefined;
  for (const vm of world.list(VMS, after.metadata.namespace)) {
    if (standsInFor(vm, after) && vm.spec.guestID === after.spec.guestID) return vm;
  }
  return undefined;
}

/** Whether one VM stands in for another still. */
export function standsInFor({ metadata, spec }: VM, vm: VM): boolean {
  return spec.standsInFor?.uid === vm.metadata.uid && metadata.deletionTimestamp === undefined;
}

/** Admission: a stand-in is what its VM was admitted as, in the binding after that VM's; a VM that takes a guest over takes over what is known of it. */
export function admitMove(draft: VM, previous: VM | undefined, { world, nowMs }: AdmissionContext): VM {
  if (previous === undefined) {
    const original = originalOf(draft, world);
    if (original === undefined) return draft;
    const { resolved, epoch = FIRST_EPOCH } = original.spec;
    return { ...draft, spec: { ...draft.spec, epoch, ...(resolved === undefined ? {} : { resolved }) } };
  }
  const taken = takenBy({ before: previous, after: draft }, world);
  return taken === undefined ? draft : { ...draft, status: statusFrom(taken, draft, nowMs) };
}

/** What is known of the guest of one VM, as the status of another; how that one fared before is its own. */
function statusFrom(from: VM, to: VM, nowMs: number): NonNullable<VM['status']> {
  const told = (from.status?.conditions ?? []).map(({ type, status, reason, message }) => ({
    ...{ type, status, reason, message },
  }));
  const { observedGeneration: _, ...status } = from.status ?? {};
  const seen = to.status?.observedGeneration;
  return {
    ...status,
    ...(seen === undefined ? {} : { observedGeneration: seen }),
    conditions: setConditions(to, nowMs, told),
  };
}

/** With a VM that takes over the guest of its stand-in, the stand-in gets the one that was, and goes. */
export function moveCompanions(
  after: VM | undefined,
  before: VM | undefined,
  { world, nowMs }: AdmissionContext,
): readonly CompanionWrite[] {
  const standIn = takenBy({ before, after }, world);
  if (standIn === undefined || before === undefined) return [];
  const { hostName, guestID, epoch } = before.spec;
  const bound = {
    ...(hostName === undefined ? {} : { hostName }),
    ...(guestID === undefined ? {} : { guestID }),
    ...(epoch === undefined ? {} : { epoch }),
  };
  const generation = (standIn.metadata.generation ?? 0) + 1;
  const metadata = {
    ...{ ...standIn.metadata, generation },
    ...{ deletionTimestamp: rfc3339(nowMs), deletionGracePeriodSeconds: 0 },
  };
  const leaving: VM = { ...standIn, metadata, spec: { ...standIn.spec, ...bound } };
  const object: VM = { ...leaving, status: statusFrom(before, standIn, nowMs) };
  const { namespace = '', name } = standIn.metadata;
  return [{ resource: VM_REF, namespace, name, object }];
}

/** What a stand-in must have in common with its VM. How long that one lives, and what it may be moved for, is its own. */
export function wishOfStandIn({ spec }: VM): Partial<VM['spec']> {
  const { image, size, class: vmClass, hostSelector, power } = spec;
  return {
    image,
    class: vmClass,
    // One that is paused has to run before it can be paused again.
    power: power === 'Stopped' ? 'Stopped' : 'Running',
    ...(size === undefined ? {} : { size }),
    ...(hostSelector === undefined ? {} : { hostSelector }),
  };
}

/** Whether a stand-in is, word for word, what its VM is. */
export function isLike(standIn: VM, vm: VM): boolean {
  return jsonEqual(wishOfStandIn(standIn), wishOfStandIn(vm)) && jsonEqual(standIn.spec.resolved, vm.spec.resolved);
}

/** Whether the guest of a stand-in is what is wanted of it, and its host has said so of this very binding. */
export function isReadyToTake({ metadata, spec, status }: VM): boolean {
  if (spec.hostName === undefined || status?.observedGeneration !== metadata.generation) return false;
  if (status?.host !== spec.hostName) return false;
  if (spec.power === 'Stopped') return status.phase === 'Stopped';
  const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return ready && status.guest?.id === spec.guestID && status.guest?.epoch === spec.epoch;
}

/** A VM comes to be the one of another guest, or another binding, only by taking over what stands in for it; and only a VM that is there is stood in for. */
export const standIn: Guard<VM> = {
  name: 'stand-in',
  fences: () => NO_FENCES,
  judge(change, world, { asker }) {
    const { before, after } = change;
    if (after === undefined) return undefined;
    const refuse = (message: string) => ({ answer: 'Forbidden', cause: 'NoStandIn', message }) as const;
    if (before === undefined && after.spec.standsInFor !== undefined) {
      const vm = originalOf(after, world);
      if (vm === undefined || vm.metadata.deletionTimestamp !== undefined)
        return refuse(`there is no VM ${after.spec.standsInFor.name} that it could stand in for`);
      if (!isLike(after, vm)) return refuse(`it is not like VM ${vm.metadata.name}, which it is to stand in for`);
    }
    const taken = takenBy(change, world);
    if (before === undefined) return undefined;
    // What stood in for it may have gone at this very moment: its own guest would be nobody's.
    if (taken === undefined)
      return leavesGuest(before, after) && !asker.operator
        ? refuse(`nothing stands in for it with guest ${after.spec.guestID}`)
        : undefined;
    const why = unfit(before, after, taken);
    return why === undefined ? undefined : refuse(`it cannot take the guest of ${taken.metadata.name}: ${why}`);
  },
};

/** Whether a VM that has a host comes to be the one of another guest. */
function leavesGuest({ spec }: VM, after: VM): boolean {
  return spec.hostName !== undefined && spec.guestID !== after.spec.guestID;
}

function unfit(before: VM, after: VM, taken: VM): string | undefined {
  if (after.metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  const { hostName, epoch = 0 } = taken.spec;
  if (after.spec.hostName !== hostName) return `that is on host ${hostName}, not on ${after.spec.hostName}`;
  if (after.spec.epoch !== epoch || epoch <= (before.spec.epoch ?? FIRST_EPOCH))
    return `it is of binding ${epoch}, the VM was in ${before.spec.epoch}`;
  if (!isLike(taken, after)) return 'it is another kind of VM by now';
  return isReadyToTake(taken) ? undefined : 'it is not ready';
}

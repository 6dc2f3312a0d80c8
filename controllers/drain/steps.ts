import { wishOfStandIn } from '../../resources/guards/stand-in.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { deleteThis, hasReason, orGone } from '../runtime/write.ts';
import type { Step } from './decide.ts';
import type { DrainDeps } from './reconcile.ts';

const STAND_IN = 'coppice.dev/stands-in-for';
const NAME_MAX = 63;

/** Takes one step of the drain of a host. Answers false when it was overtaken by something that the cache does not show yet. */
export async function take(step: Step, host: string, deps: DrainDeps, signal: AbortSignal): Promise<boolean> {
  switch (step.kind) {
    case 'evict':
      return evict(step.vm, host, deps, signal);
    case 'stand-in':
      return makeStandIn(step.vm, host, deps, signal);
    case 'drop':
      return drop(step, host, deps, signal);
    case 'switch':
      return switchOver(step, host, deps, signal);
    default:
      throw new Error(`unhandled step ${step satisfies never}`);
  }
}

async function evict(vm: VM, host: string, deps: DrainDeps, signal: AbortSignal): Promise<boolean> {
  const message = `deleted by the drain of host ${host}`;
  deps.events.record(vm, { type: 'Normal', reason: 'Evicted', message });
  await deleteThis(deps.client.resource<VM>(VM, vm.metadata.namespace), vm, signal);
  deps.log.info('vm evicted', { vm: objectKey(vm.metadata), host });
  return true;
}

/** The name is the first that nobody has: found again by a process that was killed after it made the stand-in. */
async function makeStandIn(vm: VM, host: string, deps: DrainDeps, signal: AbortSignal): Promise<boolean> {
  const { name, namespace, uid } = vm.metadata;
  const made = {
    apiVersion: apiVersionOf(VM),
    kind: VM.kind,
    metadata: {
      name: freeName(vm, deps),
      labels: { [STAND_IN]: name },
      ownerReferences: [{ apiVersion: apiVersionOf(VM), kind: VM.kind, name, uid }],
    },
    spec: { ...wishOfStandIn(vm), standsInFor: { name, uid } },
  };
  try {
    const standIn = await deps.client.resource<VM>(VM, namespace).create(made, {}, signal);
    deps.log.info('stand-in made', { vm: objectKey(vm.metadata), host, standIn: standIn.metadata.name });
    const message = `host ${host} is drained: ${standIn.metadata.name} is started elsewhere to take over`;
    deps.events.record(vm, { type: 'Normal', reason: 'Rescheduling', message });
    return true;
  } catch (error) {
    if (hasReason(error, 'AlreadyExists', 'NotFound')) return false;
    return refused(vm, host, error, deps);
  }
}

function freeName(vm: VM, { vms }: DrainDeps): string {
  for (let n = 1; ; n++) {
    const suffix = `-move-${n}`;
    const name = `${vm.metadata.name.slice(0, NAME_MAX - suffix.length)}${suffix}`;
    if (vms.get(objectKey({ ...vm.metadata, name })) === undefined) return name;
  }
}

/** Begun anew when it is gone, or after a while if it failed. */
async function drop(
  { vm, standIn, why, failed }: Extract<Step, { kind: 'drop' }>,
  host: string,
  deps: DrainDeps,
  signal: AbortSignal,
): Promise<boolean> {
  if (failed) setback(vm, host, why, deps);
  await deleteThis(deps.client.resource<VM>(VM, standIn.metadata.namespace), standIn, signal);
  deps.log.info('stand-in given up', { vm: objectKey(vm.metadata), standIn: standIn.metadata.name, why });
  return true;
}

/** From this one write on the VM is on the other host: its own guest is the stand-in's now, and goes with it. */
async function switchOver(
  { vm, standIn }: Extract<Step, { kind: 'switch' }>,
  host: string,
  deps: DrainDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { name, namespace, resourceVersion } = vm.metadata;
  const { hostName, guestID, epoch } = standIn.spec;
  const patch = { metadata: { resourceVersion }, spec: { hostName, guestID, epoch } };
  try {
    const moved = await orGone(deps.client.resource<VM>(VM, namespace).patch(name, patch, {}, signal));
    if (moved === undefined) return false;
    deps.log.info('vm moved', { vm: objectKey(vm.metadata), from: host, to: hostName, epoch });
    deps.events.record(moved, {
      type: 'Normal',
      reason: 'Rescheduled',
      message: `moved from host ${host} to ${hostName}`,
    });
    return true;
  } catch (error) {
    if (hasReason(error, 'Conflict')) return false;
    const why = error instanceof ApiError ? error.message : '';
    if (!hasReason(error, 'Forbidden')) throw error;
    return drop({ kind: 'drop', vm, standIn, why, failed: true }, host, deps, signal);
  }
}

/** What the server refuses for good reasons, such as a quota, is told, and tried again after a while. */
function refused(vm: VM, host: string, error: unknown, deps: DrainDeps): boolean {
  if (!(error instanceof ApiError) || !hasReason(error, 'Forbidden', 'Invalid')) throw error;
  setback(vm, host, error.message, deps);
  return false;
}

function setback(vm: VM, host: string, why: string, deps: DrainDeps): void {
  deps.setbacks.add(host, vm.metadata.uid, why);
  deps.events.record(vm, { type: 'Warning', reason: 'RescheduleFailed', message: why });
  deps.log.info('vm not moved', { vm: objectKey(vm.metadata), host, why });
}

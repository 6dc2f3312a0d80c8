import { type Ref, VMS } from '../guards/refs.ts';
import type { VM } from '../kinds/vm.ts';
import { entry } from '../meta/map-entry.ts';
import type { KubeObject } from '../meta/object.ts';
import { resourceId } from '../meta/resource-id.ts';
import { guestOf } from './guest-facts.ts';
import type { Change, Step } from './invariant.ts';

/** The changes of a step, by what invariants ask for. The first step has as many as there are objects, so nobody goes through all of them twice. */
class StepChanges {
  readonly byResource = new Map<string, Change[]>();
  readonly byKey = new Map<string, Change>();
  readonly vmsByHost = new Map<string, Change<VM>[]>();
  readonly vmsByNamespace = new Map<string, Change<VM>[]>();

  constructor(changes: readonly Change[]) {
    for (const change of changes) {
      entry(this.byResource, change.resource, (): Change[] => []).push(change);
      this.byKey.set(`${change.resource} ${change.key}`, change);
      if (isVM(change)) this.#addVM(change);
    }
  }

  #addVM(change: Change<VM>): void {
    const { before, after } = change;
    const hosts = new Set([before?.spec.hostName, after?.spec.hostName]);
    for (const host of hosts) if (host !== undefined) entry(this.vmsByHost, host, (): Change<VM>[] => []).push(change);
    const { namespace = '' } = (after ?? before)?.metadata ?? {};
    entry(this.vmsByNamespace, namespace, (): Change<VM>[] => []).push(change);
  }
}

const known = new WeakMap<Step, StepChanges>();

function indexOf(step: Step): StepChanges {
  const there = known.get(step);
  if (there !== undefined) return there;
  const made = new StepChanges(step.changes);
  known.set(step, made);
  return made;
}

const isVM = (change: Change): change is Change<VM> => change.resource === resourceId(VMS);

/** The changes of one resource. */
export function changesOf<T extends KubeObject>(step: Step, ref: Ref<T>): readonly Change<T>[] {
  return (indexOf(step).byResource.get(resourceId(ref)) ?? []) as readonly Change[] as readonly Change<T>[];
}

/** The change of one object, if it is among them. */
export function changeOf<T extends KubeObject>(step: Step, ref: Ref<T>, key: string): Change<T> | undefined {
  return indexOf(step).byKey.get(`${resourceId(ref)} ${key}`) as Change<T> | undefined;
}

/** The changes of VMs that are bound to a host, or were before. */
export function vmChangesOn(step: Step, host: string): readonly Change<VM>[] {
  return indexOf(step).vmsByHost.get(host) ?? [];
}

/** The changes of VMs of a namespace. */
export function vmChangesOf(step: Step, namespace: string): readonly Change<VM>[] {
  return indexOf(step).vmsByNamespace.get(namespace) ?? [];
}

/** The VM whose guest on a host was what a VM says its guest there is. */
export function guestBefore(step: Step, host: string, vm: VM): VM | undefined {
  const named = vmChangesOn(step, host).map(({ before }) => before);
  return named.find((before) => before?.spec.hostName === host && guestOf(before) === guestOf(vm));
}

import type { VM } from '../kinds/vm.ts';
import type { KubeObject } from '../meta/object.ts';
import { isLost } from './host-lost.ts';
import { VMS } from './refs.ts';
import { guestIsGone } from './shares.ts';
import type { WorldView } from './world.ts';

const NAMES_SHOWN = 3;

/** The VMs that use something, but for those that hold nothing any more. */
export function vmsUsing(world: WorldView, uses: (vm: VM) => boolean): readonly VM[] {
  return [...world.list(VMS)].filter((vm) => uses(vm) && !holdsNothing(vm));
}

/** Whether a bound VM is one in name only: it is being deleted and no guest is left, or it was given up with its host. */
export function holdsNothing(vm: VM): boolean {
  return isLost(vm) || (guestIsGone(vm) && vm.metadata.deletionTimestamp !== undefined);
}

/** `1 VM is`, `4 VMs are`. */
export function countOf(vms: readonly KubeObject[]): string {
  return vms.length === 1 ? '1 VM is' : `${vms.length} VMs are`;
}

/** Their names, as many as are read. */
export function namesOf(vms: readonly KubeObject[]): string {
  const names = vms.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort();
  return [...names.slice(0, NAMES_SHOWN), ...(names.length > NAMES_SHOWN ? ['…'] : [])].join(', ');
}

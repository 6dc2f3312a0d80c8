import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { findCondition } from '../meta/condition.ts';

/** The reason of a VM's Ready when its Host was deleted, and the guest given up with it. */
export const HOST_LOST = 'HostLost';

/** Whether the VM was given up with its host. It holds nothing there any more; a guest that comes back with the host is nobody's. */
export function isLost(vm: VM): boolean {
  return findCondition(vm, 'Ready')?.reason === HOST_LOST;
}

/** Whether the VM's guest was told of by another Host than this: one of the same name that was deleted. */
export function isOfAnotherHost({ status }: VM, { metadata }: Host): boolean {
  return status?.hostUID !== undefined && status.hostUID !== metadata.uid;
}

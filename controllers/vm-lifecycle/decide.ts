import { isLost } from '../../resources/guards/host-lost.ts';
import { GUEST_FINALIZER } from '../../resources/guards/vm-admission.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { parseDuration } from '../../resources/meta/duration.ts';

type Decision =
  | { readonly kind: 'nothing' }
  /** Its ttl ends in this many milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Its ttl has ended. */
  | { readonly kind: 'expire' }
  /** It is being deleted, and never had a host or was given up with it, so there is no guest to wait for. */
  | { readonly kind: 'release' }
  /** It is being deleted and its host is not known here; if the host is really gone, so is the guest. */
  | { readonly kind: 'release-if-host-gone'; readonly host: string };

/** What is to be done about a VM's age and end. `hostKnown`: whether a Host of a name has been seen. */
export function decide(vm: VM, hostKnown: (name: string) => boolean, nowMs: number): Decision {
  if (vm.metadata.deletionTimestamp !== undefined) {
    if (vm.metadata.finalizers?.includes(GUEST_FINALIZER) !== true) return { kind: 'nothing' };
    const host = vm.spec.hostName;
    if (host === undefined || isLost(vm)) return { kind: 'release' };
    return hostKnown(host) ? { kind: 'nothing' } : { kind: 'release-if-host-gone', host };
  }
  const ttlMs = vm.spec.ttl === undefined ? undefined : parseDuration(vm.spec.ttl);
  if (ttlMs === undefined) return { kind: 'nothing' };
  const leftMs = Date.parse(vm.metadata.creationTimestamp) + ttlMs - nowMs;
  return leftMs <= 0 ? { kind: 'expire' } : { kind: 'wait', ms: leftMs };
}

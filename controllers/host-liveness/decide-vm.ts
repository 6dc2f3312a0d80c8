import { rfc3339 } from '../../resources/ambient/clock.ts';
import { HOST_LOST, isLost, isOfAnotherHost } from '../../resources/guards/host-lost.ts';
import type { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { setConditions } from '../../resources/meta/condition.ts';
import type { StatusFields } from '../runtime/write.ts';
import { isSilent } from './decide.ts';

/** The reason of a VM's Ready while its host is silent. */
const HOST_UNREACHABLE = 'HostUnreachable';

export type VMDecision =
  /** Its nodelet speaks for it, or it has none, or vm-lifecycle is about to let it go. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'tell'; readonly status: StatusFields<VM> }
  /** Its host is not known here: if the Host is really gone, this is to be told. */
  | { readonly kind: 'tell-if-host-gone'; readonly host: string; readonly status: StatusFields<VM> };

/**
 * What is told of a bound VM in the place of a nodelet that is not heard. Of a host that is silent nothing is known, so the phase stays what it was last.
 * A Host that is gone was given up, and the guest with it: for good.
 */
export function decideVM(
  vm: VM,
  host: Host | undefined,
  lease: CoordinationLease | undefined,
  nowMs: number,
): VMDecision {
  const name = vm.spec.hostName;
  if (name === undefined) return { kind: 'nothing' };
  const leaves = vm.metadata.deletionTimestamp !== undefined;
  if (isLost(vm)) return leaves ? { kind: 'nothing' } : { kind: 'tell', status: lost(vm, name, nowMs) };
  if (host !== undefined) {
    if (isOfAnotherHost(vm, host)) return { kind: 'tell', status: lost(vm, name, nowMs) };
    if (!isSilent(host)) return { kind: 'nothing' };
    return { kind: 'tell', status: { conditions: ready(vm, nowMs, 'Unknown', unreachable(name, lease, leaves)) } };
  }
  if (leaves) return { kind: 'nothing' };
  return { kind: 'tell-if-host-gone', host: name, status: lost(vm, name, nowMs) };
}

/** Once given up it stays so, whatever comes back under the host's name. */
function lost(vm: VM, host: string, nowMs: number): StatusFields<VM> {
  const message = `host ${host} was forgotten, and its guests given up with it; delete the VM`;
  return { phase: 'Failed', conditions: ready(vm, nowMs, 'False', { reason: HOST_LOST, message }) };
}

interface Why {
  readonly reason: string;
  readonly message: string;
}

function unreachable(name: string, lease: CoordinationLease | undefined, leaves: boolean): Why {
  const since = lease?.spec?.renewTime ?? undefined;
  const silent =
    since === undefined
      ? `host ${name} has never been heard`
      : `host ${name} has not been heard since ${rfc3339(Date.parse(since))}`;
  const message = leaves
    ? `it is being deleted, but ${silent}; to give the host up: kubectl delete host ${name}`
    : `${silent}; what its guest does is not known`;
  return { reason: HOST_UNREACHABLE, message };
}

function ready(vm: VM, nowMs: number, status: 'Unknown' | 'False', why: Why) {
  return setConditions(vm, nowMs, [{ type: 'Ready', status, ...why }]);
}

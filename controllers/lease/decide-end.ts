import { LEASE_FINALIZER } from '../../resources/guards/lease-admission.ts';
import { endMs, holdsHost, isHostGone } from '../../resources/guards/lease-term.ts';
import { hostShareOf } from '../../resources/guards/shares.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { disagree, type Reading, surelyMs } from './steady-clock.ts';

export type End =
  | { readonly kind: 'nothing' }
  /** It goes on; in this many milliseconds it may be over. */
  | { readonly kind: 'goes-on'; readonly againInMs: number | undefined; readonly suspect?: string }
  | { readonly kind: 'begin' }
  /** It is over: these go, and the host is let go once they have. */
  | { readonly kind: 'clear'; readonly vms: readonly VM[] }
  | { readonly kind: 'let-go' }
  /** It is a record that is to be deleted. */
  | { readonly kind: 'release' };

/** What is to be done about the end of a lease that was granted. `vms` are those bound to its host, whoever's they are. */
export function decideEnd(lease: Lease, vms: readonly VM[], world: WorldView, reading: Reading): End {
  if (lease.status?.phase === 'Ended') return isHeldByUs(lease) ? { kind: 'release' } : { kind: 'nothing' };
  if (!holdsHost(lease)) return { kind: 'nothing' };
  if (lease.status?.phase === 'Ending') {
    // What is on another machine of that name is none of this lease's.
    return clearing(isHostGone(lease, world) ? [] : vms, lease.metadata.namespace ?? '', world);
  }
  return whetherOver(endMs(lease, world), reading);
}

/** The same of a host that is held although its Lease is gone. */
export function decideClaim(host: Host, vms: readonly VM[], world: WorldView, reading: Reading): End {
  const claim = host.status?.lease;
  if (claim?.released !== true) return { kind: 'nothing' };
  if (claim.ending === true) return clearing(vms, claim.namespace, world);
  return whetherOver(Date.parse(claim.earliestEnd ?? claim.since), reading);
}

function whetherOver(atMs: number | undefined, reading: Reading): End {
  if (atMs === undefined) return { kind: 'goes-on', againInMs: undefined };
  const leftMs = atMs - surelyMs(reading);
  if (leftMs <= 0) return { kind: 'begin' };
  if (!disagree(reading, atMs)) return { kind: 'goes-on', againInMs: leftMs };
  return { kind: 'goes-on', againInMs: leftMs, suspect: suspicion(reading, atMs) };
}

function suspicion({ wallMs, steadyMs }: Reading, atMs: number): string {
  const said = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
  const set = wallMs > steadyMs ? 'ahead' : 'back';
  return `the clock of the controllers was set ${set}: nothing ends before it is ${said(atMs)} by the clock and by the time that went by`;
}

/** The VMs of a lessee that hold something of its host. */
export function lessees(vms: readonly VM[], namespace: string, world: WorldView): readonly VM[] {
  return vms.filter((vm) => vm.metadata.namespace === namespace && hostShareOf(vm, world) !== undefined);
}

function clearing(vms: readonly VM[], namespace: string, world: WorldView): End {
  const left = lessees(vms, namespace, world);
  return left.length === 0 ? { kind: 'let-go' } : { kind: 'clear', vms: left };
}

function isHeldByUs({ metadata }: Lease): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(LEASE_FINALIZER) === true;
}

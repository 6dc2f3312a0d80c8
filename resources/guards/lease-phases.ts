import type { Lease } from '../kinds/lease.ts';
import { type Change, fence, type Guard, type GuardContext, NO_FENCES, type Refusal } from './guard.ts';
import { leaseRefusal } from './lease-host.ts';
import { tenantRefusal } from './lease-tenant.ts';
import { endMs, hostOf, isPending, pendingEndMs } from './lease-term.ts';
import { HOSTS } from './refs.ts';
import type { WorldView } from './world.ts';

/** Clocks that differ by more than this are not to be trusted with an end. */
export const MOST_SKEW_MS = 5_000;

function forbidden(cause: string, message: string): Refusal {
  return { answer: 'Forbidden', cause, message };
}

/** What a change does to the host of a lease. */
type Step = 'grant' | 'begin-end' | 'end' | 'cancel' | 'remove' | 'none' | 'wrong';

function stepOf({ before, after }: Change<Lease>): Step {
  const [was, is] = [phaseOf(before), phaseOf(after)];
  if (after === undefined) return was === 'Active' || was === 'Ending' ? 'remove' : 'none';
  if (was === is) return 'none';
  switch (`${was} ${is}`) {
    case 'Pending Active':
      return 'grant';
    case 'Active Ending':
      return 'begin-end';
    case 'Ending Ended':
      return 'end';
    case 'Pending Ended':
      return 'cancel';
    default:
      return 'wrong';
  }
}

const phaseOf = (lease: Lease | undefined) => lease?.status?.phase ?? 'Pending';

/** A lease goes from waiting to granted, to its end, and into the record, each when its time has come and never back. */
export const leasePhases: Guard<Lease> = {
  name: 'lease-phases',
  fences(change) {
    const host = (change.after ?? change.before)?.status?.host;
    const { namespace = '' } = (change.after ?? change.before)?.metadata ?? {};
    switch (stepOf(change)) {
      case 'grant':
        return { bump: [fence.host(host ?? ''), fence.tenant(namespace)], compare: [fence.policy] };
      case 'begin-end':
      case 'end':
      case 'remove':
        return { bump: host === undefined ? [] : [fence.host(host)], compare: [] };
      default:
        return NO_FENCES;
    }
  },
  judge(change, world, context) {
    const { before, after } = change;
    const step = stepOf(change);
    if (after === undefined || step === 'none') return undefined;
    switch (step) {
      case 'grant':
        return grantRefusal(before, after, world);
      case 'begin-end':
        return before && timeRefusal(endMs(before, world), context);
      case 'cancel':
        return before && timeRefusal(pendingEndMs(before), context);
      case 'end':
        return guestsRefusal(after, world);
      default:
        return forbidden('WrongPhase', `a lease that is ${phaseOf(before)} does not become ${phaseOf(after)}`);
    }
  },
};

function grantRefusal(before: Lease | undefined, after: Lease, world: WorldView): Refusal | undefined {
  if (before === undefined || !isPending(before)) return forbidden('WrongPhase', 'a lease is granted once it is there');
  const name = after.status?.host ?? '';
  const host = world.get(HOSTS, undefined, name);
  if (host === undefined) return forbidden('HostNotFound', `there is no host ${name}`);
  const refusal = tenantRefusal(after, world);
  if (refusal !== undefined) return forbidden(refusal.reason, refusal.message);
  // What the write itself makes of the host is not in the world yet, so this sees it as it was.
  const turned = leaseRefusal(before, host, world);
  return turned && forbidden(turned.filter, turned.message);
}

/** The server's own clock must say so too: where two clocks differ, nothing ends. */
function timeRefusal(atMs: number | undefined, { nowMs }: GuardContext): Refusal | undefined {
  if (atMs === undefined) return forbidden('NotOver', 'nothing says that it ends');
  if (nowMs >= atMs) return undefined;
  const early = `the server's clock says ${new Date(nowMs).toISOString()}`;
  const cause = atMs - nowMs > MOST_SKEW_MS ? 'ClockSuspect' : 'NotOver';
  return forbidden(cause, `it ends at ${new Date(atMs).toISOString()}; ${early}`);
}

/** A host is let go when no guest of the lessee is left on it. */
function guestsRefusal(lease: Lease, world: WorldView): Refusal | undefined {
  const host = hostOf(lease, world);
  const namespace = lease.metadata.namespace ?? '';
  if (host === undefined || !world.hostUse(host.metadata.name).namespaces.has(namespace)) return undefined;
  return forbidden('GuestsRemain', `host ${host.metadata.name} has guests of ${namespace} still`);
}

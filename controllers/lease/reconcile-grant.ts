import { takesOver } from '../../resources/guards/lease-host.ts';
import { isPending, pendingEndMs } from '../../resources/guards/lease-term.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { decideGrant, type Wait } from '../../resources/placement/decide-grant.ts';
import type { Outcome } from '../runtime/duty.ts';
import { hasReason, writeStatus } from '../runtime/write.ts';
import { endedStatus, grantStatus, waitingStatus } from './conditions.ts';
import { type LeaseDeps, WAITING } from './lease-deps.ts';
import { surelyMs } from './steady-clock.ts';

/** Looks at every lease that waits, oldest first: gives hosts to those they fit and tells the others why not, in one go. */
export async function pass(deps: LeaseDeps, signal: AbortSignal): Promise<Outcome> {
  let again = false;
  let nextMs: number | undefined;
  const failures: unknown[] = [];
  for (const listed of oldestFirst(deps.waiting.get(WAITING))) {
    signal.throwIfAborted();
    // The list is from the beginning of the pass, and granting takes time: look at the lease as it is by now.
    const lease = deps.leases.get(objectKey(listed.metadata));
    if (lease === undefined || !waits(lease)) continue;
    const leftMs = (pendingEndMs(lease) ?? Number.POSITIVE_INFINITY) - surelyMs(deps.steady.read());
    if (leftMs <= 0) {
      await writeStatus(resourceOf(deps, lease), lease, endedStatus(lease, deps.clock.now()), signal);
      continue;
    }
    if (Number.isFinite(leftMs)) nextMs = Math.min(nextMs ?? leftMs, leftMs);
    const decision = decideGrant(lease, deps.view.world, currentHosts(deps));
    try {
      if (decision.kind === 'wait') await tellWaiting(lease, decision, deps, signal);
      else if (!(await grant(lease, decision.host, deps, signal))) again = true;
    } catch (error) {
      // What is wrong with one lease keeps no other waiting.
      failures.push(error);
    }
  }
  signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
  return { again, ...(nextMs === undefined ? {} : { requeueAfterMs: nextMs }) };
}

/** Whether a lease wants a host. */
export function waits(lease: Lease): boolean {
  return isPending(lease) && lease.metadata.deletionTimestamp === undefined;
}

/** As they are with the grants that the caches do not show yet. */
function currentHosts({ hosts, view }: LeaseDeps): readonly Host[] {
  return [...hosts.list()].map((host) => view.host(host.metadata.name) ?? host);
}

function resourceOf({ client }: LeaseDeps, lease: Lease) {
  return client.resource<Lease>(Lease, lease.metadata.namespace);
}

/** Answers false when the server saw the world otherwise: the caches will show why, and the lease is looked at again. */
async function grant(lease: Lease, host: Host, deps: LeaseDeps, signal: AbortSignal): Promise<boolean> {
  const { clock, steady, view, events, log } = deps;
  const takenOver = takesOver(lease, host, view.world) ? host.status?.lease?.uid : undefined;
  const status = grantStatus(lease, host, clock.now());
  try {
    const written = await writeStatus(resourceOf(deps, lease), lease, status, signal);
    if (written === undefined) return true;
    steady.given(written.metadata.uid, takenOver);
    view.granted(written, host);
    const { grantedAt, earliestEnd } = written.status ?? {};
    const fields = { lease: objectKey(lease.metadata), host: host.metadata.name, grantedAt, earliestEnd };
    log.info('lease granted', fields);
    const message = `has host ${host.metadata.name} since ${grantedAt}, until ${earliestEnd} at least`;
    events.record(written, { type: 'Normal', reason: 'Granted', message });
    return true;
  } catch (error) {
    if (hasReason(error, 'Conflict', 'ServiceUnavailable')) return false;
    const cause = hasReason(error, 'Forbidden') ? error.details?.causes?.[0] : undefined;
    if (!hasReason(error, 'Forbidden') || cause === undefined) throw error;
    const message = error.message.replace(/^.*? is forbidden: /, '');
    await tellWaiting(lease, { kind: 'wait', reason: cause.reason, message, waiting: [] }, deps, signal);
    return false;
  }
}

async function tellWaiting(lease: Lease, wait: Wait, deps: LeaseDeps, signal: AbortSignal): Promise<void> {
  try {
    const written = await writeStatus(
      resourceOf(deps, lease),
      lease,
      waitingStatus(lease, wait, deps.clock.now()),
      signal,
    );
    if (written === undefined || written === lease) return;
    deps.events.record(lease, { type: 'Warning', reason: 'FailedGrant', message: wait.message });
  } catch (error) {
    // Written by others since: its change wakes another pass.
    if (!hasReason(error, 'Conflict')) throw error;
  }
}

function oldestFirst(leases: readonly Lease[]): readonly Lease[] {
  const rank = ({ metadata }: Lease) => `${metadata.creationTimestamp} ${metadata.namespace}/${metadata.name}`;
  return leases
    .map((lease) => ({ lease, rank: rank(lease) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ lease }) => lease);
}

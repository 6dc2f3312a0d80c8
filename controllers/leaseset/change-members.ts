import type { ResourceClient } from '../../apiserver/client/client.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { counted } from '../../resources/meta/counted.ts';
import { objectKey } from '../../resources/meta/object.ts';
import type { Outcome } from '../runtime/duty.ts';
import { hasReason, orGone } from '../runtime/write.ts';
import type { Membership, Plan } from './decide.ts';
import { namesOf } from './names-of.ts';
import { ownerReferenceTo } from './owner-reference.ts';
import type { LeaseSetDeps } from './set-deps.ts';

/** Takes what is a set's by its label, and lets go what is not any more. Each under the version that was looked at. */
export async function settleMembership(
  set: LeaseSet,
  { adopt, disown }: Membership,
  deps: LeaseSetDeps,
  signal: AbortSignal,
): Promise<void> {
  if (adopt.length > 0 && !(await isThere(set, deps, signal))) return;
  for (const lease of adopt) {
    const owners = [...(lease.metadata.ownerReferences ?? []), ownerReferenceTo(set)];
    await patch(lease, { ownerReferences: owners }, {}, deps, signal);
    deps.log.info('lease taken into a set', { set: objectKey(set.metadata), lease: lease.metadata.name });
  }
  for (const lease of disown) {
    const owners = lease.metadata.ownerReferences?.filter(({ uid }) => uid !== set.metadata.uid) ?? [];
    await patch(lease, { ownerReferences: owners }, {}, deps, signal);
  }
}

/** A cache may be behind: a set that is gone, or going, takes nothing more. */
async function isThere(set: LeaseSet, { client }: LeaseSetDeps, signal: AbortSignal): Promise<boolean> {
  const { name, namespace, uid } = set.metadata;
  const there = await orGone(client.resource<LeaseSet>(LeaseSet, namespace).get(name, signal));
  return there?.metadata.uid === uid && there.metadata.deletionTimestamp === undefined;
}

/** Takes releases back, drops what waits, and releases what may go. */
export async function changeMembers(
  set: LeaseSet,
  { keep, drop, release }: Plan,
  deps: LeaseSetDeps,
  signal: AbortSignal,
): Promise<Pick<Outcome, 'again'>> {
  const { events, log } = deps;
  const key = objectKey(set.metadata);
  for (const lease of keep) {
    await patch(lease, {}, { release: null }, deps, signal);
    log.info('release of a lease taken back', { set: key, lease: lease.metadata.name });
  }
  for (const lease of drop) await remove(lease, deps, signal);
  if (drop.length > 0) {
    const message = `deleted ${counted(drop.length, 'lease')} that waited for a host: ${namesOf(drop)}`;
    events.record(set, { type: 'Normal', reason: 'Dropped', message });
    log.info('leases dropped', { set: key, leases: drop.length });
  }
  const released: Lease[] = [];
  for (const lease of release) if (await releaseNow(lease, deps, signal)) released.push(lease);
  if (released.length > 0) {
    const message = `released ${counted(released.length, 'lease')} whose minimum is over: ${namesOf(released)}`;
    events.record(set, { type: 'Normal', reason: 'Released', message });
    log.info('leases released', { set: key, leases: released.length });
  }
  return { again: released.length < release.length };
}

/** Answers false when its minimum is not over by the clock of the server. */
async function releaseNow(lease: Lease, deps: LeaseSetDeps, signal: AbortSignal): Promise<boolean> {
  try {
    // Whole, for a later instant that was asked for must not stay beside it.
    await patch(lease, {}, { release: { at: null, force: null } }, deps, signal);
    return true;
  } catch (error) {
    if (hasReason(error, 'Forbidden') && error.details?.causes?.[0]?.reason === 'MinimumTerm') return false;
    throw error;
  }
}

async function patch(
  lease: Lease,
  metadata: object,
  spec: object,
  deps: LeaseSetDeps,
  signal: AbortSignal,
): Promise<void> {
  const { name, resourceVersion } = lease.metadata;
  const body = { metadata: { resourceVersion, ...metadata }, spec };
  const written = await orGone(leasesIn(lease, deps).patch(name, body, {}, signal));
  if (written !== undefined) deps.written.wrote(written);
}

/** Under its version: it may have been given a host meanwhile. */
async function remove(lease: Lease, deps: LeaseSetDeps, signal: AbortSignal): Promise<void> {
  const { name, uid, resourceVersion } = lease.metadata;
  await orGone(leasesIn(lease, deps).delete(name, { preconditions: { uid, resourceVersion } }, signal));
  deps.written.deleted(lease);
}

function leasesIn({ metadata }: Lease, { client }: LeaseSetDeps): ResourceClient<Lease> {
  return client.resource<Lease>(Lease, metadata.namespace);
}

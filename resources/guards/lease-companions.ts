import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import { setConditions } from '../meta/condition.ts';
import type { AdmissionContext, CompanionWrite } from '../meta/define-kind.ts';
import { SCRUB_PENDING, waitsForScrub } from './host-scrub.ts';
import { holdsHost, hostOf } from './lease-term.ts';
import { withEnded } from './past-leases.ts';

const HOST_REF = { group: 'coppice.dev', version: 'v1', plural: 'hosts', kind: 'Host', namespaced: false } as const;

type Claim = NonNullable<NonNullable<Host['status']>['lease']>;

/** What a host says of its lease is written with the lease, in one transaction: at no moment do the two differ. */
export function leaseCompanions(
  after: Lease | undefined,
  before: Lease | undefined,
  { world, nowMs }: AdmissionContext,
): readonly CompanionWrite[] {
  const lease = after ?? before;
  const host = lease && hostOf(lease, world);
  if (lease === undefined || host === undefined) return [];
  const next = hostAfter(host, after, before, nowMs);
  return next === host ? [] : [{ resource: HOST_REF, name: host.metadata.name, object: next }];
}

function hostAfter(host: Host, after: Lease | undefined, before: Lease | undefined, nowMs: number): Host {
  const claim = host.status?.lease;
  if (after !== undefined && holdsHost(after) && (before === undefined || !holdsHost(before)))
    return withClaim(takenBack(host, after, nowMs), claimOf(after));
  // Everything else is about this lease's own claim.
  if (before === undefined || claim === undefined || claim.uid !== before.metadata.uid) return host;
  if (after === undefined) return holdsHost(before) ? withClaim(host, { ...claim, released: true }) : host;
  if (after.status?.phase === before.status?.phase) return host;
  if (after.status?.phase === 'Ending') return withClaim(host, { ...claim, ending: true });
  return after.status?.phase === 'Ended' ? letGo(host, nowMs) : host;
}

/** A host that is leased to the tenant whose volumes are stranded there waits for no scrub any more. */
function takenBack(host: Host, { metadata }: Lease, nowMs: number): Host {
  if (!waitsForScrub(host)) return host;
  const message = `leased again to ${metadata.namespace}, whose volumes lie on it`;
  const conditions = setConditions(host, nowMs, [
    { type: SCRUB_PENDING, status: 'False', reason: 'LeasedAgain', message },
  ]);
  return { ...host, status: { ...host.status, conditions } };
}

function claimOf({ metadata, status = {} }: Lease): Claim {
  const { grantedAt = '', earliestEnd, pricePerHour, currency } = status;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    since: grantedAt,
    ...(earliestEnd === undefined ? {} : { earliestEnd }),
    ...(pricePerHour === undefined ? {} : { pricePerHour }),
    ...(currency === undefined ? {} : { currency }),
  };
}

function withClaim(host: Host, lease: Claim): Host {
  return { ...host, status: { ...host.status, lease } };
}

/** A host whose lease is over belongs to nobody, and is cleared before it is somebody's again. */
export function letGo(host: Host, nowMs: number): Host {
  const { lease, ...status } = host.status ?? {};
  const message = `the lease of ${lease?.namespace} (${lease?.name}) ended; it takes nothing before it is scrubbed`;
  const pending = { type: SCRUB_PENDING, status: 'True', reason: 'LeaseEnded', message } as const;
  const pastLeases = [...withEnded(host, nowMs)];
  return { ...host, status: { ...status, pastLeases, conditions: setConditions(host, nowMs, [pending]) } };
}

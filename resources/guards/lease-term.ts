import { rfc3339 } from '../ambient/clock.ts';
import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import type { Policy } from '../kinds/policy.ts';
import { parseDuration } from '../meta/duration.ts';
import { HOSTS } from './refs.ts';
import type { WorldView } from './world.ts';

const HOUR_MS = 3_600_000;
/** No Mac is leased for less, whatever the policy says. */
const LEAST_HOURS = 24;

/** How long a lease lasts at least. Lengths of time, not of days: no calendar has a part in it. */
export function minimumMs(policy: Policy | undefined): number {
  return Math.max(LEAST_HOURS, policy?.spec.minLeaseHours ?? LEAST_HOURS) * HOUR_MS;
}

/** The first whole second at or after an instant: what is promised from it on lasts in full. */
export function wholeSecond(ms: number): string {
  return rfc3339(Math.ceil(ms / 1000) * 1000);
}

/** When the minimum of a granted lease is over. */
export function earliestEndMs(lease: Lease): number {
  return Date.parse(lease.status?.earliestEnd ?? '');
}

/** When a granted lease ends, as things stand: by duration, release or deletion, whichever is first. Undefined: it is open-ended. */
export function endMs(lease: Lease, world: WorldView): number | undefined {
  const { grantedAt, earliestEnd } = lease.status ?? {};
  if (grantedAt === undefined || earliestEnd === undefined) return undefined;
  const earliestMs = Date.parse(earliestEnd);
  const ends = [durationEnd(lease, grantedAt), releaseEnd(lease), deletionEnd(lease)]
    .filter((ms) => ms !== undefined)
    .map((ms) => Math.max(ms, earliestMs));
  // Nobody has the use of a host that is gone; it is paid for to the minimum.
  if (isHostGone(lease, world)) ends.push(earliestMs);
  const forcedMs = forcedEnd(lease);
  if (forcedMs !== undefined) ends.push(forcedMs);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** Whether the host of a granted lease is there no more; another machine that was given its name is not it. */
export function isHostGone(lease: Lease, world: WorldView): boolean {
  return lease.status?.host !== undefined && hostOf(lease, world) === undefined;
}

/** The host of a granted lease. */
export function hostOf({ status }: Lease, world: WorldView): Host | undefined {
  if (status?.host === undefined) return undefined;
  const host = world.get(HOSTS, undefined, status.host);
  return host?.metadata.uid === status.hostUID ? host : undefined;
}

/** Whether it holds a host. */
export function holdsHost({ status }: Lease): boolean {
  return status?.phase === 'Active' || status?.phase === 'Ending';
}

/** Whether it waits for a host. */
export function isPending({ status }: Lease): boolean {
  return (status?.phase ?? 'Pending') === 'Pending';
}

function durationEnd({ spec }: Lease, grantedAt: string): number | undefined {
  const lasts = spec.duration === undefined ? undefined : parseDuration(spec.duration);
  return lasts === undefined ? undefined : Date.parse(grantedAt) + lasts;
}

function releaseEnd({ spec: { release } }: Lease): number | undefined {
  if (release === undefined || release.force === true) return undefined;
  return Date.parse(release.at ?? release.requestedAt ?? '1970-01-01T00:00:00Z');
}

function deletionEnd({ metadata }: Lease): number | undefined {
  return metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp);
}

function forcedEnd({ spec: { release } }: Lease): number | undefined {
  return release?.force === true ? Date.parse(release.requestedAt ?? '1970-01-01T00:00:00Z') : undefined;
}

/** When a lease that waits ends without having had a host: as soon as a release of it says. */
export function pendingEndMs(lease: Lease): number | undefined {
  return forcedEnd(lease) ?? releaseEnd(lease) ?? deletionEnd(lease);
}

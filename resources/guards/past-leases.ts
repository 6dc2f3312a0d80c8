import { rfc3339 } from '../ambient/clock.ts';
import type { Host } from '../kinds/host.ts';
import { isObject } from '../meta/object.ts';

export type PastLease = NonNullable<NonNullable<Host['status']>['pastLeases']>[number];

/** As many as the schema takes; the oldest go first. */
const MOST = 20;

/** What a host had, with the lease that ends now as the last: the record that outlives the Lease object and its tenant. */
export function withEnded({ status }: Host, nowMs: number): readonly PastLease[] {
  const { lease, pastLeases = [] } = status ?? {};
  if (lease === undefined) return pastLeases;
  const { namespace, name, uid, since, earliestEnd, pricePerHour, currency } = lease;
  // A clock may have been set back meanwhile.
  const endedMs = Math.max(nowMs, Date.parse(since));
  const early = earliestEnd !== undefined && endedMs < Date.parse(earliestEnd);
  const ended: PastLease = {
    namespace,
    name,
    uid,
    since,
    endedAt: rfc3339(endedMs),
    billedUntil: early ? earliestEnd : rfc3339(endedMs),
    ...(pricePerHour === undefined ? {} : { pricePerHour }),
    ...(currency === undefined ? {} : { currency }),
    ...(early ? { forced: true } : {}),
  };
  return [...pastLeases, ended].slice(-MOST);
}

/** A scrub that succeeded is noted with every lease before it that had none. */
export function withScrubbed(after: Host, before: Host | undefined): Host {
  const { scrub, pastLeases } = after.status ?? {};
  const scrubbedAt = scrub?.finishedAt;
  if (scrub?.outcome !== 'Succeeded' || scrubbedAt === undefined || pastLeases === undefined) return after;
  if (before?.status?.scrub?.finishedAt === scrubbedAt || pastLeases.every((each) => each.scrubbedAt !== undefined))
    return after;
  return { ...after, status: { ...after.status, pastLeases: pastLeases.map((each) => ({ scrubbedAt, ...each })) } };
}

/** Those in a text that was kept of a Host which went; undefined where it has none, or somebody wrote something else there. */
export function pastLeasesIn(text: string | undefined): readonly PastLease[] | undefined {
  if (text === undefined) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return Array.isArray(found) && found.every(isPastLease) ? found.slice(-MOST) : undefined;
  } catch {
    return undefined;
  }
}

function isPastLease(value: unknown): value is PastLease {
  if (!isObject(value)) return false;
  const [texts, instants] = [
    ['namespace', 'name', 'uid'],
    ['since', 'endedAt', 'billedUntil'],
  ];
  return (
    texts.every((field) => typeof value[field] === 'string') &&
    instants.every((field) => !Number.isNaN(Date.parse(String(value[field]))))
  );
}

import { NAMESPACE_FINALIZER, tenantIn } from '../../resources/guards/tenant-namespace.ts';
import type { Event } from '../../resources/kinds/event.ts';
import { Event as EventKind } from '../../resources/kinds/event.ts';
import type { Namespace } from '../../resources/kinds/namespace.ts';

/** How long an Event is kept after it last happened, in milliseconds. */
const EVENT_TTL_MS = EventKind.expiresAfterMs ?? 3_600_000;

/** Whether an owner is there. `unknown`: its kind is not served (yet), so nobody can say. */
export type OwnerState = 'present' | 'absent' | 'unknown';

/** A dependent goes when every owner is known to be gone; while one is there or might be, it stays. */
export function ownedVerdict(owners: readonly OwnerState[]): 'keep' | 'delete' {
  return owners.length > 0 && owners.every((owner) => owner === 'absent') ? 'delete' : 'keep';
}

/** How long an Event has yet, in milliseconds; at most 0 when it is over. */
export function eventLeftMs(event: Event, nowMs: number): number {
  const { metadata, series } = event;
  // An Event tells of times that may be long past or yet to come: it is kept from when it was last written, as far as that shows.
  const written = (metadata.managedFields ?? []).map(({ time }) => time);
  const told = [event.lastTimestamp, event.eventTime, series?.lastObservedTime, ...written];
  const past = told.map((time) => Date.parse(time ?? '')).filter((ms) => ms <= nowMs);
  return Math.max(Date.parse(metadata.creationTimestamp), ...past) + EVENT_TTL_MS - nowMs;
}

/** Whether a namespace is being deleted and waits for its contents. That of a tenant is emptied in an order, by another duty. */
export function isEnding(namespace: Namespace): boolean {
  const { metadata, spec } = namespace;
  if (tenantIn(namespace) !== undefined) return false;
  return metadata.deletionTimestamp !== undefined && (spec?.finalizers ?? []).includes(NAMESPACE_FINALIZER);
}

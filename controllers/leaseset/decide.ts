import { rfc3339 } from '../../resources/ambient/clock.ts';
import { LEASE_SET_DUTY, LEASE_SET_LABEL, ownerSetOf } from '../../resources/guards/lease-set.ts';
import { earliestEndMs, holdsHost, isPending } from '../../resources/guards/lease-term.ts';
import { isOpen } from '../../resources/guards/world.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../resources/kinds/lease-set.ts';

/** Who writes releases that a set may take back: this duty, and the one that found its Leases without their set. */
const TAKEN_BACK: ReadonlySet<string | undefined> = new Set([LEASE_SET_DUTY, 'system:controller:garbage']);

/** What Leases there are to a set, and what becomes of whose they are. */
export interface Membership {
  /** It makes and ends these. */
  readonly members: readonly Lease[];
  /** They carry its label and are nobody's: it takes them. */
  readonly adopt: readonly Lease[];
  /** They are over, or do not carry its label any more: they are nobody's. */
  readonly disown: readonly Lease[];
}

/** Which Leases are a set's. `found` are those that carry its label or name it as their owner. */
export function membership(set: LeaseSet, found: readonly Lease[]): Membership {
  const members: Lease[] = [];
  const adopt: Lease[] = [];
  const disown: Lease[] = [];
  for (const lease of found) {
    const labelled = lease.metadata.labels?.[LEASE_SET_LABEL] === set.metadata.name;
    if (ownerSetOf(lease)?.uid === set.metadata.uid) {
      if (!labelled || !isOpen(lease)) disown.push(lease);
      else members.push(lease);
    } else if (labelled && isOpen(lease) && lease.metadata.deletionTimestamp === undefined && !isControlled(lease)) {
      adopt.push(lease);
    }
  }
  return { members, adopt, disown };
}

const isControlled = ({ metadata }: Lease): boolean =>
  metadata.ownerReferences?.some(({ controller }) => controller === true) === true;

/** What is to be done about the Leases of a set. */
export interface Plan {
  /** How many more are to be made. */
  readonly make: number;
  /** Releases of these are taken back: they are wanted after all. */
  readonly keep: readonly Lease[];
  /** They wait, and nobody wants them. */
  readonly drop: readonly Lease[];
  /** Their minimum is over, and nobody wants them. */
  readonly release: readonly Lease[];
  /** Nobody wants them, but their minimum is not over. */
  readonly surplus: readonly Lease[];
  /** When the first of these can go, in milliseconds since the Unix epoch. */
  readonly nextReleaseMs?: number;
}

/**
 * What leads from the Leases there are to as many as are wanted. Of what is too much those go first that wait for a host; then those whose minimum is over,
 * idle ones first, then the oldest; the others stay until theirs is. Nothing that is paid for is let go and made anew.
 */
export function decide(
  members: readonly Lease[],
  wanted: number,
  isIdle: (lease: Lease) => boolean,
  nowMs: number,
): Plan {
  const open = members.filter(isOpen);
  const staying = open.filter((lease) => !isLeaving(lease, nowMs));
  const ranked = rankedToGo(staying, isIdle, nowMs);
  const excess = Math.max(0, staying.length - wanted);
  const [going, kept] = [ranked.slice(0, excess), ranked.slice(excess)];
  const missing = Math.max(0, wanted - staying.length);
  // What is released already but has not begun to end is there to be had again, and costs no new minimum.
  const takenBack = open.filter((lease) => isLeaving(lease, nowMs) && canBeTakenBack(lease)).slice(0, missing);
  const surplus = going.filter((lease) => !isPending(lease) && !isOverMinimum(lease, nowMs));
  return {
    make: missing - takenBack.length,
    keep: [...kept.filter(canBeTakenBack), ...takenBack],
    drop: going.filter(isPending),
    release: going.filter((lease) => !isPending(lease) && isOverMinimum(lease, nowMs)),
    surplus,
    ...(surplus.length === 0 ? {} : { nextReleaseMs: Math.min(...surplus.map(earliestEndMs)) }),
  };
}

/** It is over, or as good as. */
export function isLeaving({ metadata, spec, status }: Lease, nowMs: number): boolean {
  if (metadata.deletionTimestamp !== undefined || status?.phase === 'Ending') return true;
  if (status?.phase === 'Active') return Date.parse(status.endsAt ?? '') <= nowMs;
  const { release } = spec;
  return release !== undefined && !(Date.parse(release.at ?? '') > nowMs);
}

/** A release that has not begun can be taken back by who asked for it. */
function canBeTakenBack({ metadata, spec: { release }, status }: Lease): boolean {
  return (
    status?.phase === 'Active' &&
    metadata.deletionTimestamp === undefined &&
    release !== undefined &&
    release.force !== true &&
    TAKEN_BACK.has(release.by)
  );
}

const isOverMinimum = (lease: Lease, nowMs: number): boolean => earliestEndMs(lease) <= nowMs;

function rankedToGo(leases: readonly Lease[], isIdle: (lease: Lease) => boolean, nowMs: number): readonly Lease[] {
  return leases
    .map((lease) => ({ lease, rank: rankOf(lease, isIdle, nowMs) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ lease }) => lease);
}

/** Sorts before others what goes before them. */
function rankOf(lease: Lease, isIdle: (lease: Lease) => boolean, nowMs: number): string {
  const { metadata, status } = lease;
  if (!holdsHost(lease)) return `0 ${newestFirst(metadata.creationTimestamp)} ${metadata.name}`;
  if (isOverMinimum(lease, nowMs)) return `1 ${isIdle(lease) ? 0 : 1} ${status?.grantedAt} ${metadata.name}`;
  // The first of these that can go.
  return `2 ${rfc3339(earliestEndMs(lease))} ${isIdle(lease) ? 0 : 1} ${metadata.name}`;
}

const LAST_MS = 1e15;
const newestFirst = (instant: string): string => String(LAST_MS - Date.parse(instant)).padStart(16, '0');

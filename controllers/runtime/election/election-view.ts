import type { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import type { Change } from '../cache.ts';
import { type DutyRecord, dutyOf, type MemberRecord, memberOf } from './lease-records.ts';

/** What was seen, and when it last changed before our eyes, on our own monotonic clock: no two clocks are ever compared. */
type Seen<T> = T & { readonly seenAtMs: number };

/**
 * The Leases of the election as this process has seen them. What is seen is never newer than what is, so that whoever waits for a while after
 * what it saw has waited at least as long after what happened.
 */
export class ElectionView {
  readonly members = new Map<string, Seen<MemberRecord>>();
  /** By duty. */
  readonly leases = new Map<string, Seen<DutyRecord>>();
  /** Members that are not there, and Leases of duties that went: since when we know. */
  readonly goneMembers = new Map<string, number>();
  readonly goneLeases = new Map<string, number>();

  /** Takes in a change that was seen at `nowMs`. */
  observe({ before, after }: Change<CoordinationLease>, nowMs: number): void {
    const lease = after ?? before;
    if (lease === undefined) return;
    const [member, duty] = [memberOf(lease), dutyOf(lease)];
    if (member !== undefined) move(this.members, this.goneMembers, member.name, member, after !== undefined, nowMs);
    if (duty !== undefined) move(this.leases, this.goneLeases, duty.duty, duty, after !== undefined, nowMs);
    this.#noteAbsentHolders(nowMs);
  }

  /** How many duties a member holds. */
  load(member: string): number {
    return [...this.leases.values()].filter(({ holder }) => holder === member).length;
  }

  /** Holders that never were seen themselves are gone from the moment somebody was seen to name them. */
  #noteAbsentHolders(nowMs: number): void {
    const named = new Set<string>();
    for (const { holder } of this.leases.values()) {
      if (holder === '') continue;
      named.add(holder);
      if (!this.members.has(holder) && !this.goneMembers.has(holder)) this.goneMembers.set(holder, nowMs);
    }
    for (const name of this.goneMembers.keys()) if (!named.has(name)) this.goneMembers.delete(name);
  }
}

function move<T>(
  there: Map<string, Seen<T>>,
  gone: Map<string, number>,
  key: string,
  record: T,
  isThere: boolean,
  nowMs: number,
): void {
  if (isThere) {
    there.set(key, { ...record, seenAtMs: nowMs });
    gone.delete(key);
  } else {
    there.delete(key);
    gone.set(key, nowMs);
  }
}

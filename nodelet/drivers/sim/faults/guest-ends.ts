import { type FaultOf, means } from './fault.ts';
import { spanMs } from './fault-duration.ts';
import { MetFault } from './met-fault.ts';

/** A guest that is on. */
export interface GuestOn {
  readonly id: string;
  /** `namespace/name`. */
  readonly label: string;
  /** For how long, in milliseconds, since it was up. */
  readonly ageMs: number;
}

type EndKind = FaultOf<'LostGuest' | 'CrashedGuest'>;

export interface GuestEnd {
  readonly fault: EndKind;
  readonly guest: GuestOn;
}

/** A fault that ends guests of one host. With `every`, one of those it may befall each time; else each of them once after each of its starts. */
export class GuestEnds {
  readonly #met: MetFault<EndKind>;
  readonly #runningMs: number;
  /** Guests it has had its chance at, with how old they were then: one that is younger by now was started anew. */
  #seen = new Map<string, number>();

  constructor(fault: EndKind, chance: () => number, fromMs: number) {
    this.#met = new MetFault(fault, chance, fromMs);
    this.#runningMs = spanMs(fault.running ?? '0s', chance);
  }

  /** Whom it ends now. */
  take(guests: readonly GuestOn[], nowMs: number): readonly GuestEnd[] {
    const { fault } = this.#met;
    this.#seen = new Map(guests.filter((guest) => this.#isSeen(guest)).map((guest) => [guest.id, guest.ageMs]));
    if (nowMs < this.#met.dueMs) return [];
    const ripe = guests.filter((guest) => means(fault.vms, guest.label) && guest.ageMs >= this.#runningMs);
    const fresh = fault.every === undefined ? ripe.filter((guest) => !this.#isSeen(guest)) : this.#one(ripe);
    return fresh.flatMap((guest) => {
      if (fault.every === undefined && nowMs >= this.#met.dueMs) this.#seen.set(guest.id, guest.ageMs);
      return this.#met.strikes(nowMs) ? [{ fault, guest }] : [];
    });
  }

  /** How long until it may end one of these guests, in milliseconds; Infinity: it will not. */
  waitMs(guests: readonly GuestOn[], nowMs: number): number {
    const { fault, dueMs } = this.#met;
    const waits = guests
      .filter((guest) => means(fault.vms, guest.label) && (fault.every !== undefined || !this.#isSeen(guest)))
      .map(({ ageMs }) => Math.max(0, dueMs - nowMs, this.#runningMs - ageMs));
    return Math.min(Number.POSITIVE_INFINITY, ...waits);
  }

  #isSeen({ id, ageMs }: GuestOn): boolean {
    const before = this.#seen.get(id);
    return before !== undefined && ageMs >= before;
  }

  #one(ripe: readonly GuestOn[]): readonly GuestOn[] {
    const sorted = [...ripe].sort((a, b) => (a.label < b.label ? -1 : 1));
    // With nobody to choose from nothing is drawn: how often we are asked must not matter.
    const one = sorted.length < 2 ? sorted[0] : sorted[Math.floor(this.#met.draw() * sorted.length)];
    return one === undefined ? [] : [one];
  }
}

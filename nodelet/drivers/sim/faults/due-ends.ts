import type { Clock } from '../../../../resources/ambient/clock.ts';
import type { GuestEnd, GuestOn } from './guest-ends.ts';
import type { HostFaults } from './host-faults.ts';

interface DueEndsOptions {
  readonly faults: HostFaults;
  readonly clock: Clock;
  readonly guests: () => readonly GuestOn[];
  readonly end: (end: GuestEnd) => Promise<void>;
}

/** The longest a timer is set for; then it is set anew. */
const LONGEST_WAIT_MS = 3_600_000;

/** Ends guests when their fault is due, though nobody asks; it has a timer only while one may be. */
export class DueEnds implements Disposable {
  readonly #options: DueEndsOptions;
  #closed = false;
  #stopTimer = () => {};

  constructor(options: DueEndsOptions) {
    this.#options = options;
    this.reschedule();
  }

  /** Ends those that are due now. */
  async meet(): Promise<void> {
    const { faults, guests, end } = this.#options;
    for (const due of faults.takeEnds(guests())) await end(due);
  }

  /** Guests, or faults, are others than before. */
  reschedule(): void {
    this.#stopTimer();
    this.#stopTimer = () => {};
    const { faults, clock, guests } = this.#options;
    const waitMs = this.#closed ? Number.POSITIVE_INFINITY : faults.waitForEndMs(guests());
    if (waitMs === Number.POSITIVE_INFINITY) return;
    this.#stopTimer = clock.after(Math.min(waitMs, LONGEST_WAIT_MS), () => {
      this.meet()
        // One that could not be written down: whoever asks for it next is told.
        .catch(() => {})
        .finally(() => this.reschedule());
    });
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.reschedule();
  }
}

import type { Clock } from '../../../resources/ambient/clock.ts';
import { signalUntil } from '../../../resources/ambient/signal-until.ts';
import { untilAborted } from '../log-store.ts';
import { EtcdCallError } from './call-error.ts';
import type { Fence, Membership } from './membership.ts';
import type { SoleKeeper } from './sole-keeper.ts';

/** What goes with each write where only members write. */
export class Fencing {
  readonly #membership: Membership;
  readonly #keeper: SoleKeeper;
  readonly #clock: Clock;

  constructor(membership: Membership, keeper: SoleKeeper, clock: Clock) {
    this.#membership = membership;
    this.#keeper = keeper;
    this.#clock = clock;
  }

  /** Undefined while this process is no member. */
  get fence(): Fence | undefined {
    return this.#membership.fence;
  }

  /** Resolves once it is one. Rejects with EtcdCallError `NotSent` at a deadline of the monotonic clock. */
  async enter(deadlineMs: number): Promise<Fence> {
    const clock = this.#clock;
    const { signal, stop } = signalUntil([], { afterMs: deadlineMs - clock.monotonic(), late: overdue, clock });
    try {
      return await untilAborted(this.#membership.entered(), signal);
    } finally {
      stop();
    }
  }

  /** Nothing was done, as the fence was gone. */
  refused(fence: Fence): void {
    this.#keeper.lost(fence);
  }

  /** Somebody learnt of what was done up to a revision, before the watch told it. */
  told(revision: number): void {
    this.#keeper.right.told(revision);
  }
}

const overdue = () => new EtcdCallError('NotSent', 'this process did not become a member again in time');

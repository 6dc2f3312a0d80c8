import type { Clock } from '../../../resources/ambient/clock.ts';
import { signalUntil } from '../../../resources/ambient/signal-until.ts';
import { EtcdCallError } from './call-error.ts';

/** When a call ends at the latest: with any of the signals given, and at a deadline of the monotonic clock. Disposed when the call is over. */
export class CallEnding implements Disposable {
  readonly #given: readonly AbortSignal[];
  readonly #deadlineMs: number;
  readonly #clock: Clock;
  #begun: ReturnType<typeof signalUntil> | undefined;

  constructor(given: readonly AbortSignal[], deadlineMs: number, clock: Clock) {
    this.#given = given;
    this.#deadlineMs = deadlineMs;
    this.#clock = clock;
  }

  get aborted(): boolean {
    return this.#given.some(({ aborted }) => aborted) || this.#clock.monotonic() >= this.#deadlineMs;
  }

  /** Made when first asked for, as a write need not wait for it. */
  get signal(): AbortSignal {
    const clock = this.#clock;
    const afterMs = this.#deadlineMs - clock.monotonic();
    this.#begun ??= signalUntil(this.#given, { afterMs, late: overdue, clock });
    return this.#begun.signal;
  }

  [Symbol.dispose](): void {
    this.#begun?.stop();
  }
}

function overdue(): EtcdCallError {
  return new EtcdCallError('NotSent', 'etcd did not take the call within ten seconds');
}

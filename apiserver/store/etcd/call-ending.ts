import type { Clock } from '../../../resources/ambient/clock.ts';
import { EtcdCallError } from './call-error.ts';

/** When a call ends at the latest: with any of the signals given, and at a deadline of the monotonic clock. Disposed when the call is over. */
export class CallEnding implements Disposable {
  readonly #given: readonly AbortSignal[];
  readonly #deadlineMs: number;
  readonly #clock: Clock;
  #ended: AbortController | undefined;
  #stop = () => {};

  constructor(given: readonly AbortSignal[], deadlineMs: number, clock: Clock) {
    this.#given = given;
    this.#deadlineMs = deadlineMs;
    this.#clock = clock;
  }

  get aborted(): boolean {
    return this.#given.some(({ aborted }) => aborted) || this.#clock.monotonic() >= this.#deadlineMs;
  }

  /** Made when first asked for, as a write need not wait for it. A composite signal would stay with those given until it is collected. */
  get signal(): AbortSignal {
    this.#ended ??= this.#begin();
    return this.#ended.signal;
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #begin(): AbortController {
    const ended = new AbortController();
    const leftMs = Math.max(0, this.#deadlineMs - this.#clock.monotonic());
    const stopClock = this.#clock.after(leftMs, () => ended.abort(overdue()));
    const end = () => ended.abort(this.#given.find(({ aborted }) => aborted)?.reason);
    for (const signal of this.#given) signal.addEventListener('abort', end);
    if (this.#given.some(({ aborted }) => aborted)) end();
    this.#stop = () => {
      stopClock();
      for (const signal of this.#given) signal.removeEventListener('abort', end);
    };
    return ended;
  }
}

function overdue(): EtcdCallError {
  return new EtcdCallError('NotSent', 'etcd did not take the call within ten seconds');
}

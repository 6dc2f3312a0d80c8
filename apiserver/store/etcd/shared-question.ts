import type { Clock } from '../../../resources/ambient/clock.ts';

/** How long a question waits for the one before it. */
const PATIENCE_MS = 20;
/** How long an answer takes before it is looked at whether those who asked are still there. */
const SLOW_MS = 50;

/** Who asks. The signal is asked for only when the answer takes its time: it may be made then. */
interface Asker {
  readonly signal: AbortSignal;
}

/**
 * One question asked by many. Each is answered by one that begins after it asked, as one under way may be older than what its asker knows. That begins
 * when the one under way ends, or at the end of this turn of the loop, so that all who ask meanwhile share it, or soon, should that one take its time.
 */
export class SharedQuestion<T> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<T>;
  /** Those who wait for the one that begins next. */
  #next: Askers<T> | undefined;
  /** How many are under way. */
  #asking = 0;
  #stop = () => {};

  constructor(clock: Clock, ask: () => Promise<T>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Rejects with the reason of the asker's signal, should that abort before a slow answer comes. */
  answer(asker?: Asker): Promise<T> {
    if (this.#next === undefined) {
      this.#next = new Askers(this.#clock);
      if (this.#asking === 0) setImmediate(() => this.#begin());
      else this.#stop = this.#clock.after(PATIENCE_MS, () => this.#begin());
    }
    return this.#next.add(asker);
  }

  #begin(): void {
    this.#stop();
    const askers = this.#next;
    if (askers === undefined) return;
    this.#next = undefined;
    this.#asking += 1;
    const over = () => {
      this.#asking -= 1;
      if (this.#asking === 0) this.#begin();
    };
    this.#ask().then(
      (answer) => {
        over();
        askers.answered(answer);
      },
      (error: unknown) => {
        over();
        askers.failed(error);
      },
    );
  }
}

/** Those who share one question. One timer for all of them costs less than a listener on the signal of each. */
class Askers<T> {
  readonly #waiting = new Set<Waiting<T>>();
  readonly #stop: () => void;
  #slow = false;

  constructor(clock: Clock) {
    this.#stop = clock.after(SLOW_MS, () => {
      this.#slow = true;
      for (const waiting of this.#waiting) this.#heed(waiting);
    });
  }

  add(asker: Asker | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = { asker, resolve, reject, leave: nothing };
      this.#waiting.add(waiting);
      if (this.#slow) this.#heed(waiting);
    });
  }

  answered(answer: T): void {
    this.#stop();
    for (const { resolve, leave } of this.#waiting) {
      leave();
      resolve(answer);
    }
  }

  failed(error: unknown): void {
    this.#stop();
    for (const { reject, leave } of this.#waiting) {
      leave();
      reject(error);
    }
  }

  #heed(waiting: Waiting<T>): void {
    if (waiting.asker === undefined) return;
    const { signal } = waiting.asker;
    const gone = () => {
      this.#waiting.delete(waiting);
      waiting.reject(signal.reason);
    };
    signal.addEventListener('abort', gone, { once: true });
    waiting.leave = () => signal.removeEventListener('abort', gone);
    if (signal.aborted) gone();
  }
}

const nothing = () => {};

interface Waiting<T> {
  readonly asker: Asker | undefined;
  readonly resolve: (answer: T) => void;
  readonly reject: (error: unknown) => void;
  leave: () => void;
}

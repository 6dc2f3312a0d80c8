import type { Clock } from './clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock that moves only when told. `advance` runs what falls due, in order of time. */
export class ManualClock implements Clock {
  #now: number;
  readonly #timers = new Set<Timer>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves time by `ms`, running due timers and letting promises settle after each. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].filter((t) => t.at <= target).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await settle();
    }
    this.#now = target;
    await settle();
  }

  /** Moves time by `ms` at once, as for a process that was held up: what fell due meanwhile runs now, once. */
  async leap(ms: number): Promise<void> {
    this.#now += ms;
    for (const timer of [...this.#timers].filter((t) => t.at <= this.#now).sort((a, b) => a.at - b.at)) {
      if (this.#timers.delete(timer)) timer.run();
    }
    await settle();
  }
}

/** Lets queued promise callbacks run. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

import type { Clock } from '../../resources/ambient/clock.ts';

const FIRST_BACKOFF_MS = 5;
const LONGEST_BACKOFF_MS = 60_000;
/** Timers have an end (2^31 ms); a key that comes back too early is looked at and put off again. */
const LONGEST_DELAY_MS = 24 * 3_600_000;

interface QueueOptions {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/**
 * Keys that want to be looked at. A key waits at most once however often it is added; a key that is being worked on is held back until it
 * is done and then comes again if it was added meanwhile, so no key is ever worked on twice at once. It is as long as there are keys.
 */
export class WorkQueue implements Disposable {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #ready = new Set<string>();
  readonly #running = new Set<string>();
  /** Added while running. */
  readonly #again = new Set<string>();
  readonly #later = new Map<string, { readonly atMs: number; readonly cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  readonly #takers = new Set<(key: string) => void>();

  constructor({ clock, random }: QueueOptions) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Keys that wait to be taken now. */
  get length(): number {
    return this.#ready.size + this.#again.size;
  }

  add(key: string): void {
    if (this.#running.has(key)) {
      this.#again.add(key);
      return;
    }
    this.#ready.add(key);
    this.#serve();
  }

  /** Adds the key after `ms` milliseconds; of several such wishes for one key the earliest wins. More than a day counts as a day. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const delayMs = Math.min(ms, LONGEST_DELAY_MS);
    const atMs = this.#clock.monotonic() + delayMs;
    const waiting = this.#later.get(key);
    if (waiting !== undefined && waiting.atMs <= atMs) return;
    waiting?.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#later.delete(key);
      this.add(key);
    });
    this.#later.set(key, { atMs, cancel });
  }

  /** Adds the key after a wait that doubles each time until `forget`: 5 ms to 60 s, plus up to a quarter by chance. */
  addBackedOff(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const backoffMs = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures);
    this.addAfter(key, backoffMs * (1 + this.#random() / 4));
  }

  /** How often in a row the key was backed off. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The key went well: its next backoff is the first again. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, which is running from then on until `done`. Rejects with the signal's reason. */
  take(signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        this.#takers.delete(taker);
        reject(signal.reason);
      };
      const taker = (key: string) => {
        signal.removeEventListener('abort', onAbort);
        resolve(key);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#takers.add(taker);
      this.#serve();
    });
  }

  done(key: string): void {
    this.#running.delete(key);
    if (this.#again.delete(key)) this.add(key);
  }

  /** Cancels what was put off. */
  [Symbol.dispose](): void {
    for (const { cancel } of this.#later.values()) cancel();
    this.#later.clear();
  }

  #serve(): void {
    for (const taker of this.#takers) {
      const next = this.#ready.values().next();
      if (next.done) return;
      this.#ready.delete(next.value);
      this.#running.add(next.value);
      this.#takers.delete(taker);
      taker(next.value);
    }
  }
}

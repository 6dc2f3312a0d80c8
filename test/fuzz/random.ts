/** Chance from a seed: the same seed gives the same run. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** The next of a stream of 32-bit numbers (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number {
    return this.next() % end;
  }

  /** True once in so many times. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(from: readonly [T, ...T[]] | readonly T[]): T {
    const found = from[this.below(from.length)];
    if (found === undefined && from.length === 0) throw new Error('there is nothing to pick from');
    return found as T;
  }

  /** One of some thunks, so that only the one picked is computed. */
  one<T>(...of: readonly (() => T)[]): T {
    return this.pick(of)();
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  /** A chance that goes its own way from here. */
  fork(): Random {
    return new Random(this.next());
  }
}

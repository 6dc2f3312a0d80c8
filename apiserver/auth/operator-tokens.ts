import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../resources/ambient/clock.ts';

/** A token of the operator, as it is kept. */
export interface OperatorToken {
  /** SHA-256, as hex. */
  readonly hash: string;
  /** When it stops being one; never, where that is not said. */
  readonly untilMs?: number;
}

interface Expected {
  readonly hash: Buffer;
  readonly untilMs: number;
}

/** Knows the operator's tokens. They can be changed at any time: what is no longer among them is refused from then on. */
export class OperatorTokens {
  readonly #clock: Clock;
  #expected: readonly Expected[];
  /** One that was right is compared as it is from then on, which takes a tenth of hashing it. */
  #known: { readonly bytes: Buffer; readonly untilMs: number } | undefined;

  constructor(tokens: readonly OperatorToken[], clock: Clock) {
    this.#clock = clock;
    this.#expected = tokens.map(expectedOf);
  }

  replace(tokens: readonly OperatorToken[]): void {
    this.#expected = tokens.map(expectedOf);
    this.#known = undefined;
  }

  has(token: string): boolean {
    const bytes = Buffer.from(token);
    const known = this.#known;
    if (known !== undefined && known.bytes.length === bytes.length && timingSafeEqual(known.bytes, bytes))
      return this.#clock.now() < known.untilMs;
    const hash = createHash('sha256').update(bytes).digest();
    const found = this.#expected.find(
      (each) =>
        each.hash.length === hash.length && timingSafeEqual(each.hash, hash) && this.#clock.now() < each.untilMs,
    );
    if (found !== undefined) this.#known = { bytes, untilMs: found.untilMs };
    return found !== undefined;
  }
}

const expectedOf = ({ hash, untilMs = Number.POSITIVE_INFINITY }: OperatorToken): Expected => ({
  hash: Buffer.from(hash, 'hex'),
  untilMs,
});

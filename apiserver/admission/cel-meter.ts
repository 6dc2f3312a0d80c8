/** How much a request's rules may compute: steps of expressions, fields compared, characters matched. About 0.2 s of work. */
export const RULE_BUDGET = 2_000_000;

/** Why the rules after one that wanted more than was left are not run. */
export const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/**
 * Counts the work of rules. CEL's `||` and quantifiers swallow errors and go on, so what bounds them is that every
 * iteration is paid for before it starts; `exhausted` tells afterwards, whatever the rule answered.
 */
export class CelMeter {
  #left = 0;

  refill(budget: number): void {
    this.#left = budget;
  }

  get exhausted(): boolean {
    return this.#left < 0;
  }

  charge(cost: number): void {
    this.#left -= cost;
    if (this.#left < 0) throw new Error(OUT_OF_BUDGET);
  }

  /** Pays for going over a value once, and hands it on. */
  visit<T>(value: T): T {
    this.charge(sizeOf(value));
    return value;
  }

  /** Pays for a loop over a value whose every item takes so many steps, and hands it on. */
  walk<T>(value: T, steps: number): T {
    this.charge(sizeOf(value) * steps);
    return value;
  }

  /** Pays for comparing all of a value, and hands it on. */
  weigh<T>(value: T): T {
    this.#weighParts(value);
    return value;
  }

  /** What it takes to compare all of a value once. Paid for itself. */
  weightOf(value: unknown): number {
    const before = this.#left;
    this.#weighParts(value);
    return before - this.#left;
  }

  #weighParts(value: unknown): void {
    this.charge(2 * sizeOf(value));
    if (typeof value !== 'object' || value === null) return;
    for (const part of Array.isArray(value) ? value : Object.values(value)) {
      if (typeof part === 'object' || typeof part === 'string') this.#weighParts(part);
    }
  }
}

const CHARACTERS_A_STEP = 32;

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + Math.ceil(value.length / CHARACTERS_A_STEP);
  if (Array.isArray(value)) return 1 + value.length;
  if (typeof value === 'object' && value !== null) return 1 + Object.keys(value).length;
  return 1;
}

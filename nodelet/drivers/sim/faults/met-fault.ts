import type { FaultOf } from './fault.ts';
import { spanMs } from './fault-duration.ts';

export type MetKind = FaultOf<
  'SlowOperation' | 'FailedOperation' | 'LostGuest' | 'CrashedGuest' | 'LeakedSlot' | 'NodeletCrash'
>;

/** A fault that waits on one host for something it can befall: an operation, a guest, a step. Times are milliseconds since the start. */
export class MetFault<F extends MetKind = MetKind> {
  readonly fault: F;
  readonly #chance: () => number;
  readonly #endsMs: number;
  #left: number;
  #toSkip: number;
  #dueMs: number;

  constructor(fault: F, chance: () => number, fromMs: number) {
    this.fault = fault;
    this.#chance = chance;
    this.#left = fault.times ?? (isBounded(fault) ? 1 : Number.POSITIVE_INFINITY);
    this.#toSkip = fault.skip ?? 0;
    this.#dueMs = fromMs + spanMs(fault.after ?? fault.every ?? '0s', chance);
    const lasts = fault.fault === 'SlowOperation' || fault.fault === 'FailedOperation' ? fault.for : undefined;
    this.#endsMs = lasts === undefined ? Number.POSITIVE_INFINITY : this.#dueMs + spanMs(lasts, chance);
  }

  /** From when on it strikes; Infinity: never again. */
  get dueMs(): number {
    return this.#left > 0 && this.#dueMs < this.#endsMs ? this.#dueMs : Number.POSITIVE_INFINITY;
  }

  /** Whether it strikes what is met now; that counts as one. */
  strikes(nowMs: number): boolean {
    if (nowMs < this.dueMs || nowMs >= this.#endsMs) return false;
    const { every, probability = 1 } = this.fault;
    if (every !== undefined) this.#dueMs = nowMs + spanMs(every, this.#chance);
    if (this.#toSkip > 0) {
      this.#toSkip -= 1;
      return false;
    }
    if (this.#chance() >= probability) return false;
    this.#left -= 1;
    return true;
  }

  /** A number from 0 up to 1, for what else is left to chance. */
  draw(): number {
    return this.#chance();
  }
}

/** Once is enough, unless the file says in some way how often; slowness is a state. */
function isBounded({ fault, every, probability, ...rest }: MetKind): boolean {
  if (fault === 'SlowOperation' || every !== undefined || probability !== undefined) return false;
  return !(fault === 'FailedOperation' && 'for' in rest && rest.for !== undefined);
}

import type { SimFault, SimOperation } from './faults.ts';

/** What is left of a host's faults: how often something is still to fail, who is still to be lost. */
export class FaultState {
  readonly #delays = new Map<SimOperation, number>();
  readonly #failures = new Map<SimOperation, number>();
  #ends: { readonly kind: 'lose' | 'crash'; readonly guest: string; readonly afterMs: number }[] = [];
  #leakedSlots = 0;
  #clockMs = 0;

  constructor(faults: readonly SimFault[]) {
    this.add(faults);
  }

  /** Adds faults; one about the same operation, the slots or the clock takes the place of an earlier one. */
  add(faults: readonly SimFault[]): void {
    for (const fault of faults) {
      if (fault.kind === 'slow') this.#delays.set(fault.operation, fault.ms);
      else if (fault.kind === 'fail-next') this.#failures.set(fault.operation, fault.times);
      else if (fault.kind === 'leak-slot') this.#leakedSlots = fault.slots;
      else if (fault.kind === 'clock') this.#clockMs = fault.ms;
      else this.#ends.push(fault);
    }
  }

  /** macOS slots taken by no guest. */
  get leakedSlots(): number {
    return this.#leakedSlots;
  }

  /** How far the host's clock is ahead, in milliseconds. */
  get clockMs(): number {
    return this.#clockMs;
  }

  delayMs(operation: SimOperation): number | undefined {
    return this.#delays.get(operation);
  }

  /** Whether this call is to fail; it counts as one. */
  takeFailure(operation: SimOperation): boolean {
    const left = this.#failures.get(operation) ?? 0;
    if (left > 0) this.#failures.set(operation, left - 1);
    return left > 0;
  }

  /** How a guest that has run for `runningMs` milliseconds is to end now, if it is; it happens once. */
  takeEnd(id: string, label: string, runningMs: number): 'lose' | 'crash' | undefined {
    if (this.#ends.length === 0) return undefined;
    const due = this.#ends.find((end) => (end.guest === id || end.guest === label) && runningMs >= end.afterMs);
    if (due === undefined) return undefined;
    this.#ends = this.#ends.filter((end) => end !== due);
    return due.kind;
  }
}

import type { FaultOf } from './fault.ts';
import { spanMs } from './fault-duration.ts';

export type TimedKind = FaultOf<'LostHeartbeat' | 'Partition' | 'ClockStep' | 'DiskFull' | 'NodeletCrash'>;

/** A fault began, or it ended. */
export interface Turn {
  readonly fault: TimedKind;
  readonly begins: boolean;
  /** How long it lasts, in milliseconds; undefined: to the end. */
  readonly lastsMs?: number;
}

/** A fault that comes by the clock, on one host: when it begins and ends. Times are milliseconds since the start. */
export class TimedFault {
  readonly fault: TimedKind;
  readonly #chance: () => number;
  #holds = false;
  #left: number;
  #nextMs: number;

  constructor(fault: TimedKind, chance: () => number, fromMs: number) {
    this.fault = fault;
    this.#chance = chance;
    this.#left = fault.times ?? (fault.every === undefined ? 1 : Number.POSITIVE_INFINITY);
    this.#nextMs = fromMs + spanMs(fault.after ?? fault.every ?? '0s', chance);
  }

  get holds(): boolean {
    return this.#holds;
  }

  /** When it begins or ends next; Infinity: never. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** Moves on to `nowMs`, and tells what came to pass on the way. */
  advance(nowMs: number): readonly Turn[] {
    const turns: Turn[] = [];
    while (this.#nextMs <= nowMs) {
      if (this.#holds) turns.push(this.#end());
      else if (this.#chance() < (this.fault.probability ?? 1)) turns.push(this.#begin());
      else this.#rest();
    }
    return turns;
  }

  #begin(): Turn {
    const { fault } = this;
    this.#left -= 1;
    // What jumps or dies is over at once, whatever comes of it.
    const moment = (fault.fault === 'ClockStep' || fault.fault === 'NodeletCrash') && fault.for === undefined;
    if (moment) {
      this.#rest();
      return { fault, begins: true };
    }
    this.#holds = true;
    if (fault.for === undefined) {
      this.#nextMs = Number.POSITIVE_INFINITY;
      return { fault, begins: true };
    }
    const lastsMs = spanMs(fault.for, this.#chance);
    this.#nextMs += lastsMs;
    return { fault, begins: true, lastsMs };
  }

  #end(): Turn {
    this.#holds = false;
    this.#rest();
    return { fault: this.fault, begins: false };
  }

  #rest(): void {
    const { every } = this.fault;
    this.#nextMs =
      every === undefined || this.#left <= 0 ? Number.POSITIVE_INFINITY : this.#nextMs + spanMs(every, this.#chance);
  }
}

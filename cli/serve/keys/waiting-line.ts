import type { Clock } from '../../../resources/ambient/clock.ts';
import { type Io, warn } from '../../io.ts';

/** How long there is nothing to say of a wait, in milliseconds. */
const QUIET_MS = 3000;

/** Says whom a wait is for, once it is no short one, and again when that changes. */
export class WaitingLine {
  readonly #io: Io;
  readonly #clock: Clock;
  readonly #sinceMs: number;
  #said: string | undefined;

  constructor({ io, clock }: { readonly io: Io; readonly clock: Clock }) {
    this.#io = io;
    this.#clock = clock;
    this.#sinceMs = clock.monotonic();
  }

  /** `names` are those that are waited for; `line` says so, and may say more that changes all the time. */
  tell(names: readonly string[], line: string): void {
    const key = names.join(' ');
    if (key === this.#said || this.#clock.monotonic() - this.#sinceMs < QUIET_MS) return;
    this.#said = key;
    warn(this.#io, `waiting for ${line}`);
  }
}

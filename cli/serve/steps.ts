import type { Clock } from '../../resources/ambient/clock.ts';
import { type Io, printLine } from '../io.ts';

/** Tells what is being done: on a terminal a line that is finished in place, elsewhere one plain line when it is done. */
export class Steps {
  readonly #io: Io;
  readonly #clock: Clock;

  constructor(io: Io, clock: Clock) {
    this.#io = io;
    this.#clock = clock;
  }

  /** Runs one step; `done` says what came of it. A step that throws says so, and throws on. */
  async step<T>(label: string, run: () => Promise<T>, done: (result: T) => string = () => label): Promise<T> {
    const started = this.#clock.monotonic();
    const terminal = this.#io.stdout.isTTY === true;
    if (terminal) this.#io.stdout.write(`  ${label} …`);
    const finish = (mark: string, text: string) => {
      const seconds = ((this.#clock.monotonic() - started) / 1000).toFixed(1);
      printLine(this.#io, `${terminal ? '\r\u001b[K' : ''}${mark} ${text}  (${seconds} s)`);
    };
    try {
      const result = await run();
      finish('✓', done(result));
      return result;
    } catch (error) {
      if (!this.#io.signal.aborted) finish('✗', label);
      throw error;
    }
  }

  say(text: string): void {
    printLine(this.#io, text);
  }
}

import type { Io } from '../../io.ts';

/** One line on a terminal that says how far something is; nothing elsewhere. Disposing it takes the line away. */
export class Progress implements Disposable {
  readonly #io: Io;
  #shown = '';

  constructor(io: Io) {
    this.#io = io;
  }

  say(line: string): void {
    if (this.#io.stderr.isTTY !== true || line === this.#shown) return;
    this.#io.stderr.write(`\r${line.padEnd(this.#shown.length)}`);
    this.#shown = line;
  }

  [Symbol.dispose](): void {
    if (this.#shown !== '') this.#io.stderr.write(`\r${' '.repeat(this.#shown.length)}\r`);
  }
}

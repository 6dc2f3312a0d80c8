import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

const MAX_BYTES = 8 << 20;

/** A log that never grows beyond twice 8 MiB: the file, and the one before it (`.1`). A line that cannot be written is lost, not an error. */
export class LogFile implements Disposable {
  readonly #path: string;
  #file: number;
  #bytes: number;

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, 'a', 0o600);
    this.#bytes = fstatSync(this.#file).size;
  }

  write(line: string): void {
    try {
      if (this.#bytes > MAX_BYTES) this.#rotate();
      this.#bytes += writeSync(this.#file, `${line}\n`);
    } catch {
      // A full disk must not take the control plane down with it.
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #rotate(): void {
    closeSync(this.#file);
    renameSync(this.#path, `${this.#path}.1`);
    this.#file = openSync(this.#path, 'a', 0o600);
    this.#bytes = 0;
  }
}

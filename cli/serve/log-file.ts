import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

export const MAX_LOG_BYTES = 8 << 20;
/** A line longer than this, in bytes, is cut: one line must not be a log of its own. */
const MAX_LINE_BYTES = 64 << 10;

/** A log that never grows beyond twice its bound (8 MiB): the file, and the one before it (`.1`). A line that cannot be written is lost, not an error. */
export class LogFile implements Disposable {
  readonly #path: string;
  readonly #maxBytes: number;
  /** Undefined once closed: the system gives the number to the next file that is opened. */
  #file: number | undefined;
  #bytes: number;

  constructor(path: string, maxBytes = MAX_LOG_BYTES) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#file = openSync(path, 'a', 0o600);
    this.#bytes = fstatSync(this.#file).size;
  }

  write(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    if (bytes.length > MAX_LINE_BYTES) bytes[MAX_LINE_BYTES - 1] = 0x0a;
    const kept = bytes.subarray(0, MAX_LINE_BYTES);
    try {
      if (this.#bytes > 0 && this.#bytes + kept.length > this.#maxBytes) this.#rotate();
      if (this.#file !== undefined) this.#bytes += writeSync(this.#file, kept);
    } catch {
      // A full disk must not take the control plane down with it.
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** The old file stays open until there is a new one: what fails here is tried again with the next line. */
  #rotate(): void {
    if (this.#file === undefined) return;
    try {
      renameSync(this.#path, `${this.#path}.1`);
    } catch (error) {
      // Somebody moved it away already.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
    const next = openSync(this.#path, 'a', 0o600);
    closeSync(this.#file);
    this.#file = next;
    this.#bytes = 0;
  }
}

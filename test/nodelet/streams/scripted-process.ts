import type { GuestProcess } from '../../../nodelet/drivers/driver.ts';

/** A command whose every move the test makes. */
export class ScriptedProcess implements GuestProcess {
  stdout: AsyncIterable<Uint8Array> = nothing();
  stderr: AsyncIterable<Uint8Array> = nothing();
  readonly sizes: [number, number][] = [];
  readonly #exit = Promise.withResolvers<{ readonly code: number }>();
  /** Set: writes wait for it. */
  gate: Promise<void> | undefined;
  takenBytes = 0;
  writing = 0;
  stdinClosed = false;
  readonly killed: AbortSignal;

  constructor(killed: AbortSignal) {
    this.killed = killed;
    killed.addEventListener('abort', () => this.end(137), { once: true });
  }

  get exit(): Promise<{ readonly code: number }> {
    return this.#exit.promise;
  }

  end(code: number): void {
    this.#exit.resolve({ code });
  }

  break(error: Error): void {
    this.#exit.reject(error);
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.writing += 1;
    await this.gate;
    this.takenBytes += bytes.length;
  }

  async closeStdin(): Promise<void> {
    this.stdinClosed = true;
  }

  resize(rows: number, columns: number): void {
    this.sizes.push([rows, columns]);
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

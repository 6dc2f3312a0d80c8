import type { IncomingMessage } from 'node:http';
import { parseExact } from './exact-json.ts';

/** A watch whose lines are read as they come. */
export class WireWatch implements Disposable {
  readonly #incoming: IncomingMessage;
  readonly #lines: string[] = [];
  #taken = 0;
  #closed = false;
  #wake = () => {};

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
    void this.#read();
  }

  get head(): { readonly code: number; readonly headers: NodeJS.Dict<string[]> } {
    return { code: this.#incoming.statusCode ?? 0, headers: this.#incoming.headersDistinct };
  }

  /** All of an answer that is no stream. */
  async whole(waitMs: number): Promise<Buffer> {
    await this.#until(() => this.#closed, waitMs);
    return Buffer.from(this.#lines.join(''));
  }

  /** The next events; fewer when no more come in time. */
  async take(count: number, waitMs: number): Promise<unknown[]> {
    await this.#until(() => this.#closed || this.#lines.length - this.#taken >= count, waitMs);
    return this.#next(count);
  }

  /** Everything up to the end, and whether it came. */
  async finish(waitMs: number): Promise<{ readonly closed: boolean; readonly events: unknown[] }> {
    await this.#until(() => this.#closed, waitMs);
    return { closed: this.#closed, events: this.#next(Number.POSITIVE_INFINITY) };
  }

  #next(count: number): unknown[] {
    const lines = this.#lines.slice(this.#taken, this.#taken + count);
    this.#taken += lines.length;
    return lines.map(parseExact);
  }

  async #read(): Promise<void> {
    let rest = '';
    try {
      for await (const piece of this.#incoming.setEncoding('utf8')) {
        const lines = (rest + piece).split(/(?<=\n)/);
        rest = lines.at(-1)?.endsWith('\n') ? '' : (lines.pop() ?? '');
        this.#lines.push(...lines);
        this.#wake();
      }
    } catch {
      // A stream that was broken off has ended.
    }
    if (rest !== '') this.#lines.push(rest);
    this.#closed = true;
    this.#wake();
  }

  #until(holds: () => boolean, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#wake = () => {
        if (!holds()) return;
        clearTimeout(timer);
        resolve();
      };
      this.#wake();
    });
  }

  [Symbol.dispose](): void {
    this.#incoming.destroy();
  }
}

import { parseDuration } from '../../resources/meta/duration.ts';
import { Failure } from '../failure.ts';

/** Milliseconds of a flag such as `90s`; a plain number is seconds, as kubectl takes it. */
export function durationFlag(name: string, text: string): number {
  const ms = /^[0-9]+$/.test(text) ? Number(text) * 1000 : parseDuration(text);
  if (ms === undefined || ms > MAX_MS) throw new Failure(`--${name} ${text} is not a time such as 30s, 5m or 1h30m`);
  return ms;
}

/** Longest a timer of the platform goes. */
const MAX_MS = 2 ** 31 - 1;

/** A signal that ends with the parent or, when `ms` is given, after that time. Dispose it when the wait is over. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#parent.reason);
  #passed = false;

  constructor(parent: AbortSignal, ms: number | undefined) {
    this.#parent = parent;
    if (parent.aborted) this.#onAbort();
    else parent.addEventListener('abort', this.#onAbort, { once: true });
    if (ms !== undefined) {
      this.#timer = setTimeout(() => {
        this.#passed = true;
        this.#controller.abort(new DOMException('the time is up', 'TimeoutError'));
      }, ms);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether it was the time that ended it. */
  get passed(): boolean {
    return this.#passed;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener('abort', this.#onAbort);
  }
}

import type { Clock } from '../../resources/ambient/clock.ts';
import { slowWaits } from '../../resources/ambient/slow-waits.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Credential, Crowd, ServerRequest } from './server-request.ts';

interface RequestTime {
  readonly crowd: Crowd;
  readonly clock: Clock;
  /** How long it may take, in milliseconds; undefined: as long as its caller stays. */
  readonly ms: number | undefined;
}

/**
 * A request as a verb has it: of somebody's crowd, and given up when it takes too long. The clock runs from the first time that anything asks for the
 * signal, which is before it waits: what is answered at once needs neither signal nor timer. Disposed when the request is over.
 */
export class TimedRequest implements ServerRequest, Disposable {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly credential: Credential;
  readonly #from: ServerRequest;
  readonly #time: RequestTime;
  #ended: AbortController | undefined;
  #stop: (() => void) | undefined;

  constructor(from: ServerRequest, time: RequestTime) {
    this.method = from.method;
    this.path = from.path;
    this.headers = from.headers;
    this.credential = from.credential;
    this.#from = from;
    this.#time = time;
  }

  get query(): URLSearchParams {
    return this.#from.query;
  }

  get signal(): AbortSignal {
    const { ms, clock } = this.#time;
    if (ms === undefined) return this.#from.signal;
    if (this.#ended === undefined) this.#ended = this.#start(ms, clock);
    return this.#ended.signal;
  }

  body(maxBytes: number): Promise<Uint8Array> {
    const body = this.#from.body(maxBytes, this.#time.crowd);
    const { ms, clock } = this.#time;
    return ms === undefined ? body : slowWaits(clock).unlessGone(body, this);
  }

  [Symbol.dispose](): void {
    this.#stop?.();
  }

  #start(ms: number, clock: Clock): AbortController {
    const ended = new AbortController();
    const { signal } = this.#from;
    // Of AbortSignal.any the garbage collector has a fifth of what a small request takes.
    const gone = () => ended.abort(signal.reason);
    signal.addEventListener('abort', gone);
    if (signal.aborted) gone();
    const stop = clock.after(ms, () => ended.abort(overdue(ms)));
    this.#stop = () => {
      stop();
      signal.removeEventListener('abort', gone);
    };
    return ended;
  }
}

function overdue(ms: number): ApiError {
  const message = `the request was not finished within ${ms / 1000} s`;
  return new ApiError('Timeout', message, { details: { retryAfterSeconds: 1 } });
}

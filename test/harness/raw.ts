import { type Identity, OPERATOR } from '../../apiserver/auth/identity.ts';
import { lines } from '../../apiserver/client/watch.ts';
import type { App, Credential, ServerRequest } from '../../apiserver/requests/server-request.ts';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly body: Answer;
}

/** What tests look at in an answer. */
export interface Answer {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly status?: unknown;
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  readonly details?: {
    readonly kind?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { reason: string; message: string; field?: string }[];
  };
  readonly metadata?: Record<string, unknown>;
  readonly spec?: Record<string, unknown>;
  readonly items?: readonly { metadata: { name: string; namespace?: string; resourceVersion: string } }[];
}

export interface RawWish {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly identity?: Identity;
  readonly credential?: Credential;
  readonly signal?: AbortSignal;
}

/** A request to an app as it would come off the wire. A body that is no string or bytes is sent as JSON. */
export function rawRequest(method: string, url: string, wish: RawWish = {}): ServerRequest {
  const mark = url.indexOf('?');
  const body =
    wish.body === undefined
      ? new Uint8Array()
      : wish.body instanceof Uint8Array
        ? wish.body
        : new TextEncoder().encode(typeof wish.body === 'string' ? wish.body : JSON.stringify(wish.body));
  return {
    method,
    path: mark < 0 ? url : url.slice(0, mark),
    query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)),
    headers: wish.headers ?? {},
    body: async () => body,
    signal: wish.signal ?? new AbortController().signal,
    credential: wish.credential ?? { kind: 'identity', identity: wish.identity ?? OPERATOR },
  };
}

/** Sends a request to an app and reads the whole answer. */
export async function send(app: App, method: string, url: string, wish: RawWish = {}): Promise<RawAnswer> {
  const { status, headers, body } = await app(rawRequest(method, url, wish));
  const pieces: Uint8Array[] = [];
  if (body instanceof Uint8Array) pieces.push(body);
  else for await (const piece of body) pieces.push(piece);
  const text = Buffer.concat(pieces).toString('utf8');
  return { status, headers, text, body: parsed(text) };
}

function parsed(text: string): Answer {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return {};
  }
}

export interface RawEvent {
  readonly type: string;
  readonly object: Answer & { readonly rows?: readonly unknown[]; readonly columnDefinitions?: readonly unknown[] };
}

/** A watch that is read one event at a time. */
export class RawWatch implements AsyncDisposable {
  readonly #lines: AsyncIterator<string>;
  readonly #stop = new AbortController();

  private constructor(body: AsyncIterable<Uint8Array>, stop: AbortController) {
    this.#lines = lines(body)[Symbol.asyncIterator]();
    this.#stop = stop;
  }

  static async open(app: App, url: string, wish: RawWish = {}): Promise<RawWatch> {
    const stop = new AbortController();
    const { status, body } = await app(rawRequest('GET', url, { ...wish, signal: stop.signal }));
    if (status !== 200 || body instanceof Uint8Array) throw new Error(`the watch was answered ${status}`);
    return new RawWatch(body, stop);
  }

  /** The next event, or undefined when the stream has ended. */
  async next(): Promise<RawEvent | undefined> {
    const result = await this.#lines.next();
    return result.done === true ? undefined : (JSON.parse(result.value) as RawEvent);
  }

  async take(count: number): Promise<RawEvent[]> {
    const events: RawEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (event === undefined) throw new Error(`the watch ended after ${events.length} of ${count} events`);
      events.push(event);
    }
    return events;
  }

  /** Everything up to the end of the stream. */
  async rest(): Promise<RawEvent[]> {
    const events: RawEvent[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) events.push(event);
    return events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#lines.return?.();
  }
}

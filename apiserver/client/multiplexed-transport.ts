import { type H2Link, openLink, type Patience, Unanswered } from './h2-link.ts';
import {
  ANSWER_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  type Connection,
  HttpsTransport,
  tlsOptions,
} from './https-transport.ts';
import type { ApiRequest, ApiResponse, Transport } from './transport.ts';
import { UnreachableError } from './unreachable-error.ts';

/**
 * Requests to one server of ours, all over one connection, watches too: each connection costs either side its TLS. Where the server does not agree
 * to that they go over HTTP/1.1. Whoever makes it disposes it, which ends what is still open.
 */
export class MultiplexedTransport implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #patience: Patience;
  /** For a server that speaks HTTP/1.1 only. */
  readonly #plain: HttpsTransport;
  /** All that are open: one whose credentials were renewed goes on until its watches are over. */
  readonly #links = new Set<H2Link>();
  #way: Way | undefined;
  #breaking = new AbortController();

  /** What `connection` holds is read anew for every request, so that it may change. */
  constructor(connection: Connection, options: Partial<Patience> = {}) {
    this.#plain = new HttpsTransport(connection, options);
    this.#connection = connection;
    this.#patience = { connectTimeoutMs: CONNECT_TIMEOUT_MS, answerTimeoutMs: ANSWER_TIMEOUT_MS, ...options };
  }

  readonly send: Transport = async (request) => {
    request.signal?.throwIfAborted();
    const authorization = await this.#connection.authorization?.();
    try {
      return await this.#once(request, authorization);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (!mayAgain(request, error)) throw error.inner;
    }
    try {
      return await this.#once(request, authorization);
    } catch (error) {
      throw error instanceof Unanswered ? error.inner : error;
    }
  };

  /** Breaks off whatever is under way, and opens connections anew for what comes. */
  breakOff(): void {
    const why = new Error('it was broken off');
    this.#way = undefined;
    this.#breaking.abort(why);
    this.#breaking = new AbortController();
    for (const link of this.#links) link.breakOff(why);
    this.#plain.breakOff();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.breakOff();
  }

  async #once(request: ApiRequest, authorization: string | undefined): Promise<ApiResponse> {
    const way = this.#current();
    const link = way.link ?? (await orAborted(way.opening, request.signal));
    if (link !== undefined) return link.send(request, authorization);
    try {
      return await this.#plain.send(request);
    } catch (error) {
      // The server that comes back may be a newer one.
      if (error instanceof UnreachableError) this.#forget(way);
      throw error;
    }
  }

  /** The connection to send on: the one there is, while it is good and opened with what is to be shown now. */
  #current(): Way {
    const tls = Object.values(tlsOptions(this.#connection));
    const now = this.#way;
    if (now !== undefined && sameValues(now.tls, tls) && now.link?.usable !== false) return now;
    now?.link?.retire();
    const opening = openLink(this.#connection, this.#patience, this.#breaking.signal);
    const way: Way = { tls, opening, link: undefined };
    this.#way = way;
    opening.then(
      (link) => {
        way.link = link;
        if (link !== undefined) this.#keep(link, way);
      },
      () => this.#forget(way),
    );
    return way;
  }

  #keep(link: H2Link, way: Way): void {
    this.#links.add(link);
    link.onceClosed(() => {
      this.#links.delete(link);
      this.#forget(way);
    });
    // Another was asked for while this one was opened: nothing but what waits for it goes over it.
    if (this.#way !== way) setImmediate(() => link.retire());
  }

  #forget(way: Way): void {
    if (this.#way === way) this.#way = undefined;
  }
}

interface Way {
  /** What it was opened with. */
  readonly tls: readonly unknown[];
  /** Undefined where the server speaks HTTP/1.1 only. */
  readonly opening: Promise<H2Link | undefined>;
  link: H2Link | undefined;
}

const sameValues = (some: readonly unknown[], others: readonly unknown[]) =>
  some.length === others.length && some.every((each, at) => each === others[at]);

/** Whether a request may go out again: the server certainly has not done it, or may have ended the connection just as it went out, and it only reads. */
function mayAgain({ method }: ApiRequest, { inner, old }: Unanswered): boolean {
  return old && inner.reason === 'broken' && (method === 'GET' || !inner.sent);
}

/** A promise, which is not waited for beyond a signal. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    if (signal.aborted) leave();
  });
}

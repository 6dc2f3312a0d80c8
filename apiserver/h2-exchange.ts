import type { IncomingHttpHeaders } from 'node:http';
import type { IncomingHttpHeaders as Http2Headers, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Outgoing } from './outgoing.ts';
import type { RequestHead } from './wire-request.ts';

/** The head of a request that came as a stream of HTTP/2, as one of HTTP/1.1 would look. */
export class StreamHead implements RequestHead {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly socket: TLSSocket;
  readonly #raw: readonly string[];

  /** `raw` are names and values in turn, as they came. */
  constructor(headers: Http2Headers, raw: readonly string[], socket: TLSSocket) {
    this.method = headers[':method'];
    this.url = headers[':path'];
    this.headers = withoutPseudo(headers);
    this.socket = socket;
    this.#raw = raw;
  }

  get headersDistinct(): Readonly<Record<string, string[]>> {
    const distinct: Record<string, string[]> = Object.create(null);
    for (let at = 0; at + 1 < this.#raw.length; at += 2) {
      const name = this.#raw[at] ?? '';
      distinct[name] ??= [];
      distinct[name].push(this.#raw[at + 1] ?? '');
    }
    return distinct;
  }
}

function withoutPseudo(headers: Http2Headers): IncomingHttpHeaders {
  const plain: IncomingHttpHeaders = {};
  const authority = headers[':authority'];
  if (authority !== undefined) plain.host = authority;
  for (const name in headers) if (!name.startsWith(':')) plain[name] = headers[name];
  return plain;
}

/** The answer to a request that came as a stream. Nothing of it may be written before its head. */
export class StreamOutgoing implements Outgoing {
  readonly req: { readonly method: string | undefined };
  readonly #stream: ServerHttp2Stream;
  readonly #brokenOff: () => void;
  #head: OutgoingHttpHeaders | undefined;

  /** `brokenOff` is told when the answer is broken off by us. */
  constructor(stream: ServerHttp2Stream, method: string | undefined, brokenOff: () => void) {
    this.#stream = stream;
    this.req = { method };
    this.#brokenOff = brokenOff;
  }

  /** Streams do not wait for each other. */
  get socket(): object {
    return this.#stream;
  }

  get writableFinished(): boolean {
    return this.#stream.writableFinished;
  }

  writeHead(status: number, lines: (string | string[])[]): void {
    const head: OutgoingHttpHeaders = { ':status': status };
    for (let at = 0; at + 1 < lines.length; at += 2) head[String(lines[at])] = lines[at + 1];
    this.#head = head;
  }

  flushHeaders(): void {
    this.#respond(false);
  }

  write(piece: Uint8Array): boolean {
    this.#respond(false);
    return this.#gone ? false : this.#stream.write(piece);
  }

  end(piece?: Uint8Array): void {
    const alone = piece === undefined || piece.length === 0;
    this.#respond(alone);
    if (this.#gone) return;
    if (alone) this.#stream.end();
    else this.#stream.end(piece);
  }

  destroy(): void {
    if (this.#gone) return;
    // Closed with a code it would be ended first, as if it were whole.
    this.#stream.destroy(new Error('the answer was broken off'));
    this.#brokenOff();
  }

  once(event: 'close' | 'drain', listener: () => void): void {
    this.#stream.once(event, listener);
  }

  removeListener(event: 'close' | 'drain', listener: () => void): void {
    this.#stream.removeListener(event, listener);
  }

  /** Whether nobody can be told anything any longer. */
  get #gone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  #respond(endStream: boolean): void {
    const head = this.#head;
    if (head === undefined || this.#gone) return;
    this.#head = undefined;
    this.#stream.respond(head, { endStream });
  }
}

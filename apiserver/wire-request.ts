import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { impersonationNames } from './auth/impersonate.ts';
import { type BodyBudget, type BodyShare, readBody } from './body-budget.ts';
import type { Credential, Crowd, ServerRequest } from './requests/server-request.ts';

/** The room for bodies of each crowd. */
export type BodyBudgets = Readonly<Record<Crowd, BodyBudget>>;

/** What stands before a body, of HTTP/1.1 or of a stream of HTTP/2. */
export interface RequestHead {
  readonly method?: string | undefined;
  /** Path and query. */
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Each header's lines as they came. */
  readonly headersDistinct: Readonly<Record<string, string[] | undefined>>;
  readonly socket: Socket;
}

/** A request off the wire. What only some requests ask for is made when it is asked for. Disposed when the request is over: it gives back the room of its body. */
export class WireRequest implements ServerRequest, Disposable {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly repeated: Readonly<Record<string, readonly string[]>> | undefined;
  readonly credential: Credential;
  readonly #body: Readable;
  readonly #caller: { readonly signal: AbortSignal };
  readonly #bodies: BodyBudgets;
  readonly #search: string;
  #query: URLSearchParams | undefined;
  #shares: BodyShare[] | undefined;
  #over = false;

  /** `caller` tells when the client goes away. */
  constructor(head: RequestHead, body: Readable, caller: { readonly signal: AbortSignal }, bodies: BodyBudgets) {
    const url = head.url ?? '/';
    const mark = url.indexOf('?');
    this.method = head.method ?? 'GET';
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.headers = flatHeaders(head);
    this.repeated = repeatedHeaders(head);
    this.credential = credentialOf(head);
    this.#body = body;
    this.#caller = caller;
    this.#bodies = bodies;
    this.#search = mark < 0 ? '' : url.slice(mark + 1);
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#search);
    return this.#query;
  }

  get signal(): AbortSignal {
    return this.#caller.signal;
  }

  body(maxBytes: number, crowd: Crowd = 'operators'): Promise<Uint8Array> {
    if (this.#over) return Promise.reject(new Error('the request is over'));
    const share = this.#bodies[crowd].share();
    this.#shares ??= [];
    this.#shares.push(share);
    return readBody(this.#body, Number(this.headers['content-length'] ?? 0), maxBytes, share);
  }

  [Symbol.dispose](): void {
    this.#over = true;
    if (this.#shares !== undefined) for (const share of this.#shares) share[Symbol.dispose]();
  }
}

function flatHeaders({ headers }: RequestHead): Record<string, string> {
  // Node joins what comes more than once, but for cookies that a server sets: those a client has no use for.
  if (headers['set-cookie'] !== undefined) delete headers['set-cookie'];
  return headers as Record<string, string>;
}

/** Groups may have commas in them, so the lines they came in are kept. Asked for by few requests: Node takes headers apart a second time. */
function repeatedHeaders(head: RequestHead): Record<string, readonly string[]> | undefined {
  const names = impersonationNames(head.headers);
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name, head.headersDistinct[name] ?? []]));
}

function credentialOf(head: RequestHead): Credential {
  const { authorization } = head.headers;
  const bearer = authorization === undefined ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  return { kind: 'wire', bearer, certificate: certificateOf(head.socket as TLSSocket) };
}

type Certificate = Extract<Credential, { kind: 'wire' }>['certificate'];

const certificates = new WeakMap<Socket, NonNullable<Certificate>>();

/** Whom the certificate of a connection is for: taken apart once, for it stays what it was when the connection was made. */
function certificateOf(socket: TLSSocket): Certificate {
  if (!socket.authorized) return undefined;
  const known = certificates.get(socket);
  if (known !== undefined) return known;
  const subject = socket.getPeerCertificate()?.subject;
  if (subject === undefined) return undefined;
  const read = { commonName: first(subject.CN), organizations: all(subject.O), serial: first(subjectSerial(subject)) };
  certificates.set(socket, read);
  return read;
}

/** The `serialNumber` attribute of the subject: where our host certificates carry the Host's uid. */
function subjectSerial(subject: object): unknown {
  return 'serialNumber' in subject ? subject.serialNumber : undefined;
}

const all = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : value === undefined ? [] : [String(value)];
const first = (value: unknown): string => all(value)[0] ?? '';

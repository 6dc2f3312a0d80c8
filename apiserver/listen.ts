import type { IncomingMessage, ServerResponse as NodeResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../resources/ambient/clock.ts';
import { ApiError } from '../resources/meta/api-error.ts';
import { BodyBudget, type BodyShare, readBody } from './body-budget.ts';
import { Connections } from './connections.ts';
import { endSocket } from './end-socket.ts';
import { failure } from './requests/respond.ts';
import type { App, Credential, Crowd, ServerRequest, ServerResponse } from './requests/server-request.ts';
import { writeResponse } from './write-response.ts';

/** Takes a WebSocket handshake; it answers on the socket itself. */
export type Upgrader = (request: ServerRequest, incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface ListenOptions {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly app: App;
  readonly upgrade?: Upgrader;
  readonly clock: Clock;
  readonly limits?: Partial<ListenLimits>;
  /** How long requests under way have to be answered when the listener is disposed, in milliseconds; by default they are cut off. */
  readonly graceMs?: number;
}

/** How long clients may take, in milliseconds, and how much they may have under way. */
export interface ListenLimits {
  /** For TLS to be agreed on. */
  readonly handshakeMs: number;
  /** For the head of a request to come, from its first byte; of the first one from the connection on. */
  readonly headMs: number;
  /** For a request to come, body and all. How long its answer takes (a watch) is another matter. */
  readonly requestMs: number;
  /** Between requests. It must outlast clients' pools, or they meet a closing connection. */
  readonly idleMs: number;
  /** Without taking any of an answer. */
  readonly stalledMs: number;
  /** How often the times above are looked at. */
  readonly checkMs: number;
  /** Of the bodies of all requests under way together. */
  readonly bodyBytes: number;
  /** Requests of one connection, one sent after the other without waiting for its answer. */
  readonly pipelined: number;
}

const LIMITS: ListenLimits = {
  handshakeMs: 15_000,
  headMs: 30_000,
  requestMs: 60_000,
  idleMs: 90_000,
  stalledMs: 60_000,
  checkMs: 5_000,
  bodyBytes: 128 << 20,
  pipelined: 64,
};

/** A bound listener. Disposing it closes the port and every connection. */
export interface Listener extends AsyncDisposable {
  readonly port: number;
  /** Serves new connections with another leaf certificate. */
  renew(tls: ListenOptions['tls']): void;
}

/** A command of `exec` is in the address, so addresses may be long; the agent itself takes 64 KiB. */
const MAX_HEADER_BYTES = 256 << 10;

/** Binds the app to a port: the only file that knows HTTP sockets. Rejects with the system's error (`EADDRINUSE`, `EACCES`). */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, tls, upgrade, graceMs = 0 } = options;
  const limits = { ...LIMITS, ...options.limits };
  const server = createServer({
    ...tls,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    maxHeaderSize: MAX_HEADER_BYTES,
    handshakeTimeout: limits.handshakeMs,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkMs,
  });
  // The server lets go of sockets that were upgraded; closing must end them too.
  const upgraded = new Set<Duplex>();
  const serving = { ...options, limits, bodies: bodiesOf(limits), connections: new Connections() };
  const answer = (incoming: IncomingMessage, outgoing: NodeResponse) =>
    void serve(serving, incoming, outgoing).finally(() => server.emit('answered'));
  server.on('request', answer);
  server.on('checkContinue', (incoming, outgoing) => {
    inviteBody(outgoing);
    answer(incoming, outgoing);
  });
  if (upgrade !== undefined)
    server.on('upgrade', (incoming, socket, head) => {
      upgraded.add(socket);
      socket.once('close', () => upgraded.delete(socket));
      takeUpgrade(upgrade, incoming, socket, head);
    });
  // A client that breaks off its handshake is no event for us.
  server.on('tlsClientError', () => {});
  server.on('clientError', malformedRefuser(options.clock));
  await bind(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    renew: (next) => server.setSecureContext(next),
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of upgraded) socket.destroy();
      if (graceMs > 0) await drained(server, closed, graceMs, options.clock);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Resolves when every request that was under way is answered, or the time is over. */
async function drained(server: Server, closed: Promise<void>, graceMs: number, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<void>();
  const stop = clock.after(graceMs, late.resolve);
  // A connection is not idle yet while its answer is being finished.
  const idle = () => setImmediate(() => server.closeIdleConnections());
  server.on('answered', idle);
  server.closeIdleConnections();
  await Promise.race([closed, late.promise]);
  server.off('answered', idle);
  stop();
}

/** What is no HTTP is told so, where anybody still listens. */
function malformedRefuser(clock: Clock): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  const refused = new WeakSet<Duplex>();
  return (error, socket) => {
    // What comes after is no HTTP either, and is read to nowhere.
    if (refused.has(socket) && error.code?.startsWith('HPE_')) return;
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
    refused.add(socket);
    const status = STATUS_OF[error.code ?? ''] ?? '400 Bad Request';
    endSocket(socket, `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, clock);
  };
}

const STATUS_OF: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

interface Serving extends ListenOptions {
  readonly limits: ListenLimits;
  readonly bodies: Readonly<Record<Crowd, BodyBudget>>;
  readonly connections: Connections;
}

async function serve(serving: Serving, incoming: IncomingMessage, outgoing: NodeResponse): Promise<void> {
  const { app, bodies, clock, connections, limits } = serving;
  const { socket } = incoming;
  using entered = connections.enter(outgoing, socket);
  using operators = bodies.operators.share();
  using others = bodies.others.share();
  const { signal } = entered;
  const options = { headOnly: incoming.method === 'HEAD', clock, stalledMs: limits.stalledMs, signal };
  try {
    const tooMany = connections.underWay(socket) > limits.pipelined;
    const response = tooMany ? tooManyAtOnce(limits) : await app(requestOf(incoming, signal, { operators, others }));
    await writeResponse(response, outgoing, options);
  } catch {
    // The app answers its own failures; what reaches here is a connection that broke.
    outgoing.destroy();
  }
}

const bodiesOf = ({ bodyBytes }: ListenLimits) => ({
  operators: new BodyBudget(bodyBytes),
  others: new BodyBudget(bodyBytes),
});

function tooManyAtOnce({ pipelined }: ListenLimits): ServerResponse {
  const why = `more than ${pipelined} requests are under way on this connection`;
  return failure(new ApiError('TooManyRequests', `Too many requests: ${why}`, { details: { retryAfterSeconds: 1 } }));
}

/** Tells a client that asked first that its body is wanted. Where other answers go before, this must not come in between them, nor after the head of its own. */
function inviteBody(outgoing: NodeResponse): void {
  const invite = () => {
    if (!outgoing.headersSent) outgoing.writeContinue();
  };
  if (outgoing.socket === null) outgoing.once('socket', invite);
  else invite();
}

function takeUpgrade(upgrade: Upgrader, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const gone = new AbortController();
  socket.on('error', () => socket.destroy());
  socket.once('close', () => gone.abort(new Error('the client went away')));
  upgrade(requestOf(incoming, gone.signal, NO_SHARE), incoming, socket, head);
}

/** A handshake has no body. */
const NO_SHARE = { operators: new BodyBudget(0).share(), others: new BodyBudget(0).share() };

function requestOf(
  incoming: IncomingMessage,
  signal: AbortSignal,
  shares: Readonly<Record<Crowd, BodyShare>>,
): ServerRequest {
  const url = incoming.url ?? '/';
  const mark = url.indexOf('?');
  const repeated = repeatedHeaders(incoming);
  return {
    method: incoming.method ?? 'GET',
    path: mark < 0 ? url : url.slice(0, mark),
    query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)),
    headers: flatHeaders(incoming),
    ...(repeated === undefined ? {} : { repeated }),
    body: (maxBytes, crowd = 'operators') => readBody(incoming, maxBytes, shares[crowd], signal),
    signal,
    credential: credentialOf(incoming),
  };
}

function flatHeaders(incoming: IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
}

/** Groups may have commas in them, so the lines they came in are kept. Asked for by few requests: Node takes headers apart a second time. */
function repeatedHeaders(incoming: IncomingMessage): Record<string, readonly string[]> | undefined {
  const names = Object.keys(incoming.headers).filter((name) => name.startsWith('impersonate-'));
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name, incoming.headersDistinct[name] ?? []]));
}

function credentialOf(incoming: IncomingMessage): Credential {
  const bearer = /^Bearer +(\S+)$/i.exec(incoming.headers.authorization ?? '')?.[1];
  const socket = incoming.socket as TLSSocket;
  const subject = socket.authorized ? socket.getPeerCertificate()?.subject : undefined;
  const certificate =
    subject === undefined
      ? undefined
      : { commonName: first(subject.CN), organizations: all(subject.O), serial: first(subjectSerial(subject)) };
  return {
    kind: 'wire',
    ...(bearer === undefined ? {} : { bearer }),
    ...(certificate === undefined ? {} : { certificate }),
  };
}

/** The `serialNumber` attribute of the subject: where our host certificates carry the Host's uid. */
function subjectSerial(subject: object): unknown {
  return 'serialNumber' in subject ? subject.serialNumber : undefined;
}

const all = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : value === undefined ? [] : [String(value)];
const first = (value: unknown): string => all(value)[0] ?? '';

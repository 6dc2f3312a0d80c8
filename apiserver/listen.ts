import type { IncomingMessage, ServerResponse as NodeResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../resources/ambient/clock.ts';
import { ApiError } from '../resources/meta/api-error.ts';
import { BodyBudget } from './body-budget.ts';
import { H2_PROTOCOL } from './client/h2-protocol.ts';
import { Connections } from './connections.ts';
import { endSocket } from './end-socket.ts';
import { andThen, whenOver } from './eventual.ts';
import { H2Sessions } from './h2-sessions.ts';
import type { Outgoing } from './outgoing.ts';
import { failure } from './requests/respond.ts';
import type { App, ServerRequest, ServerResponse } from './requests/server-request.ts';
import { type BodyBudgets, type RequestHead, WireRequest } from './wire-request.ts';
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
  /** Requests of one connection under way at once, of a client that speaks HTTP/2. */
  readonly streams: number;
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
  streams: 256,
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
    ALPNProtocols: [H2_PROTOCOL, 'http/1.1'],
  });
  // The server lets go of sockets that were upgraded; closing must end them too.
  const upgraded = new Set<Duplex>();
  const connections = new Connections({ clock: options.clock, ...limits });
  const answered = () => void server.emit('answered');
  const serving = { ...options, limits, bodies: bodiesOf(limits), connections, answered };
  const serveOne = (incoming: IncomingMessage, outgoing: NodeResponse) =>
    serve(serving, incoming, incoming, outgoing, limits.pipelined);
  server.on('request', serveOne);
  server.on('checkContinue', (incoming, outgoing) => {
    inviteBody(outgoing);
    serveOne(incoming, outgoing);
  });
  const sessions = new H2Sessions({
    clock: options.clock,
    limits,
    serve: (head, stream, outgoing) => serve(serving, head, stream, outgoing, limits.streams),
  });
  divert(server, sessions);
  if (upgrade !== undefined)
    server.on('upgrade', (incoming, socket, head) => {
      upgraded.add(socket);
      socket.once('close', () => upgraded.delete(socket));
      takeUpgrade(upgrade, incoming, socket, head);
    });
  // A client that breaks off its handshake is no event for us.
  server.on('tlsClientError', () => {});
  server.on('clientError', malformedRefuser(options.clock));
  // The server knows connections by their first request: closing must end also those that have not come to one, be it in the middle of TLS.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await bind(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    renew: (next) => server.setSecureContext(next),
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of upgraded) socket.destroy();
      sessions.close();
      if (graceMs > 0) await drained(server, closed, graceMs, options.clock);
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Leads connections on which HTTP/2 was agreed past the server's own reader of HTTP/1.1. */
function divert(server: Server, sessions: H2Sessions): void {
  const own = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === H2_PROTOCOL) sessions.take(socket);
    else for (const listener of own) listener.call(server, socket);
  });
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
  readonly bodies: BodyBudgets;
  readonly connections: Connections;
  /** Called when a request has its answer. */
  readonly answered: () => void;
}

function serve(serving: Serving, head: RequestHead, body: Readable, outgoing: Outgoing, most: number): void {
  const { app, bodies, connections } = serving;
  const { socket } = head;
  const entered = connections.enter(outgoing, socket);
  const request = new WireRequest(head, body, entered, bodies);
  // The app answers its own failures; what fails here is a connection that broke.
  const broke = () => void outgoing.destroy();
  const over = () => {
    request[Symbol.dispose]();
    serving.answered();
  };
  const deliver = (response: ServerResponse) => writeResponse(response, entered, connections);
  try {
    const tooMany = connections.underWay(socket) > most;
    const delivered = whenOver(() => andThen(tooMany ? tooManyAtOnce(most) : app(request), deliver), over);
    if (delivered instanceof Promise) delivered.catch(broke);
  } catch {
    broke();
  }
}

const bodiesOf = ({ bodyBytes }: ListenLimits) => ({
  operators: new BodyBudget(bodyBytes),
  others: new BodyBudget(bodyBytes),
});

function tooManyAtOnce(most: number): ServerResponse {
  const why = `more than ${most} requests are under way on this connection`;
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
  upgrade(new WireRequest(incoming, incoming, gone, NO_BODIES), incoming, socket, head);
}

/** A handshake has no body. */
const NO_BODIES = { operators: new BodyBudget(0), others: new BodyBudget(0) };

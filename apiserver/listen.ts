import type { IncomingMessage, ServerResponse as NodeResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { tooLarge } from './in-process-transport.ts';
import type { App, Credential, ServerRequest, ServerResponse } from './requests/server-request.ts';

/** Takes a WebSocket handshake; it answers on the socket itself. */
export type Upgrader = (request: ServerRequest, incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface ListenOptions {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly app: App;
  readonly upgrade?: Upgrader;
}

/** A bound listener. Disposing it closes the port and every connection. */
export interface Listener extends AsyncDisposable {
  readonly port: number;
  /** Serves new connections with another leaf certificate. */
  renew(tls: ListenOptions['tls']): void;
}

/** A command of `exec` is in the address, so addresses may be long; the agent itself takes 64 KiB. */
const MAX_HEADER_BYTES = 256 << 10;
/** A request, body and all, must have come by then; how long its answer takes (a watch) is another matter. */
const REQUEST_MS = 60_000;
/** Keep-alive must outlast clients' pools, or they meet a closing connection. */
const KEEP_ALIVE_MS = 90_000;

/** Binds the app to a port: the only file that knows HTTP sockets. Rejects with the system's error (`EADDRINUSE`, `EACCES`). */
export async function listen({ host, port, tls, app, upgrade }: ListenOptions): Promise<Listener> {
  const server = createServer({
    ...tls,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  // The server lets go of sockets that were upgraded; closing must end them too.
  const upgraded = new Set<Duplex>();
  server.requestTimeout = REQUEST_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = KEEP_ALIVE_MS + 5_000;
  server.on('request', (incoming, outgoing) => void serve(app, incoming, outgoing));
  if (upgrade !== undefined)
    server.on('upgrade', (incoming, socket, head) => {
      upgraded.add(socket);
      socket.once('close', () => upgraded.delete(socket));
      takeUpgrade(upgrade, incoming, socket, head);
    });
  // A client that breaks off its handshake is no event for us.
  server.on('tlsClientError', () => {});
  server.on('clientError', refuseMalformed);
  await bind(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    renew: (next) => server.setSecureContext(next),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

/** What is no HTTP is told so, where anybody still listens. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

async function serve(app: App, incoming: IncomingMessage, outgoing: NodeResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort(new Error('the client went away')));
  try {
    await write(await app(requestOf(incoming, gone.signal)), outgoing, incoming.method === 'HEAD');
  } catch {
    // The app answers its own failures; what reaches here is a connection that broke.
    outgoing.destroy();
  }
}

async function write(response: ServerResponse, outgoing: NodeResponse, headOnly: boolean): Promise<void> {
  const { status, headers, body } = response;
  if (body instanceof Uint8Array) {
    outgoing.writeHead(status, { ...asNode(headers), ...(status === 304 ? {} : { 'content-length': body.length }) });
    outgoing.end(headOnly ? undefined : body);
    return;
  }
  outgoing.writeHead(status, asNode(headers));
  outgoing.flushHeaders();
  if (!headOnly) {
    for await (const piece of body) {
      if (outgoing.destroyed) break;
      if (!outgoing.write(piece)) await drained(outgoing);
    }
  }
  outgoing.end();
}

function asNode(headers: ServerResponse['headers']): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? onWire(value) : value.map(onWire),
    ]),
  );
}

/** UTF-8 as the bytes that a header carries. */
const onWire = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

function drained(outgoing: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.removeListener('drain', done);
      outgoing.removeListener('close', done);
      resolve();
    };
    outgoing.once('drain', done);
    outgoing.once('close', done);
    if (outgoing.destroyed) done();
  });
}

function takeUpgrade(upgrade: Upgrader, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const gone = new AbortController();
  socket.on('error', () => socket.destroy());
  socket.once('close', () => gone.abort(new Error('the client went away')));
  upgrade(requestOf(incoming, gone.signal), incoming, socket, head);
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): ServerRequest {
  const url = incoming.url ?? '/';
  const mark = url.indexOf('?');
  const repeated = repeatedHeaders(incoming);
  return {
    method: incoming.method ?? 'GET',
    path: mark < 0 ? url : url.slice(0, mark),
    query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)),
    headers: flatHeaders(incoming),
    ...(repeated === undefined ? {} : { repeated }),
    body: (maxBytes) => readBody(incoming, maxBytes, signal),
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

/** How much of a body that is too large is read and thrown away, so that the answer still reaches who sends it. */
const DISCARD_BYTES = 64 << 20;

async function readBody(incoming: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const declared = Number(incoming.headers['content-length'] ?? 0);
  if (declared > maxBytes) return discard(incoming, maxBytes);
  const pieces: Buffer[] = [];
  let bytes = 0;
  const stop = () => incoming.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) {
      bytes += (piece as Buffer).length;
      if (bytes > maxBytes) return discard(incoming, maxBytes);
      pieces.push(piece as Buffer);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}

function discard(incoming: IncomingMessage, maxBytes: number): never {
  let left = DISCARD_BYTES;
  incoming.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) incoming.destroy();
  });
  throw tooLarge(maxBytes);
}

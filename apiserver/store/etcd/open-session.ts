import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { callError, EtcdCallError } from './call-error.ts';

export interface SessionOptions {
  /** `http://` or `https://`, host and port. */
  readonly address: string;
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
  readonly clock: Clock;
}

const CONNECT_MS = 2_000;
/** How long a member may say nothing before it is asked for a sign of life, and how long it has to give one. etcd takes more questions for an attack. */
const QUIET_MS = 10_000;
const PONG_MS = 5_000;

/** What all calls are headed by. */
export const HEADERS = {
  ':method': 'POST',
  'content-type': 'application/grpc',
  te: 'trailers',
  'user-agent': 'coppice',
} as const;

/** A session that is being opened, so that it can be ended before it is. */
export interface Opening {
  readonly session: ClientHttp2Session;
  /** The session once it is there. Rejects with EtcdCallError `NotSent`. */
  readonly opened: Promise<ClientHttp2Session>;
}

/**
 * Connects to a member, within two seconds. `windowBytes` are what it may send of one answer that nobody has read yet. A session is there once the other
 * side has said so: something in between may take connections for a member that is gone.
 */
export function openSession(options: SessionOptions, windowBytes: number): Opening {
  const { promise, resolve, reject } = Promise.withResolvers<ClientHttp2Session>();
  const socket = dial(options);
  const session = connect(options.address, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: windowBytes },
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
  });
  let why: unknown;
  const note = (error: Error) => {
    why ??= error;
  };
  const stop = options.clock.after(CONNECT_MS, () => end(new Error('no answer in two seconds')));
  const end = (error?: Error) => {
    why ??= error;
    stop();
    session.destroy(error);
    socket.destroy();
    reject(unsent(why));
  };
  session.on('error', note).once('close', () => end());
  // Of a socket that is closed in the middle of TLS a session hears nothing.
  socket.on('error', end).once('close', () => end());
  session.once('remoteSettings', () => {
    stop();
    if (!session.destroyed) session.setLocalWindowSize(windowBytes);
    resolve(session);
  });
  promise.catch(() => {});
  return { session, opened: promise };
}

function dial({ address, tls }: SessionOptions): Socket {
  const { protocol, hostname, port } = new URL(address);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const isSecure = protocol === 'https:';
  const where = { host, port: Number(port || (isSecure ? 443 : 80)) };
  if (!isSecure) return connectPlain(where);
  return connectTls({ ...where, ...tls, ALPNProtocols: ['h2'], ...(isIP(host) === 0 ? { servername: host } : {}) });
}

/** Ends the session when its member gives no sign of life, for as long as something is under way that waits for one. */
export function listenForLife(
  session: ClientHttp2Session,
  clock: Clock,
  isWaiting: () => boolean,
  over = () => {},
): void {
  clock.after(QUIET_MS, () => {
    if (!isWaiting() || session.destroyed) return over();
    const stop = clock.after(PONG_MS, () => session.destroy(new Error('no sign of life')));
    session.once('close', stop);
    session.ping(() => {
      session.off('close', stop);
      stop();
    });
    listenForLife(session, clock, isWaiting, over);
  });
}

/** How a call ended, by what was said of it; undefined where it went well. */
export function failureIn(said: IncomingHttpHeaders): EtcdCallError | undefined {
  const { 'grpc-status': status, 'grpc-message': message } = said;
  return status === '0' ? undefined : callError(new Error(`${status} ${decoded(String(message ?? ''))}`));
}

/** Hears what is said of a call: before its answer, where there is none, or behind it. */
export function hearStatus(stream: ClientHttp2Stream, hear: (said: IncomingHttpHeaders) => void): void {
  const heard = (headers: IncomingHttpHeaders) => {
    if (headers['grpc-status'] !== undefined) hear(headers);
  };
  stream.once('response', heard).once('trailers', heard);
}

export function unsent(why: unknown): EtcdCallError {
  return new EtcdCallError('NotSent', `no connection to etcd: ${messageOf(why)}`, { cause: why });
}

export const messageOf = (why: unknown): string =>
  why instanceof Error ? why.message : String(why ?? 'it was closed');

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

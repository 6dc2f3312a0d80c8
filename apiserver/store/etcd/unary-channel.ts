import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { callError, EtcdCallError } from './call-error.ts';

export interface ChannelOptions {
  /** `http://` or `https://`, host and port. */
  readonly address: string;
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
  readonly clock: Clock;
}

const CONNECT_MS = 2_000;
/** How often the deadlines of all calls are looked at: one timer costs less than one a call. */
const LOOK_MS = 250;
/** How long a member may say nothing while calls are under way before it is asked for a sign of life, and how long it has to give one. */
const QUIET_MS = 10_000;
const PONG_MS = 5_000;
const PREFIX_BYTES = 5;
const MAX_ANSWER_BYTES = 4 << 20;

/**
 * Calls of one message each way to one member, gRPC over a session of HTTP/2 of its own: what a write takes through a gRPC library is three times
 * what it takes here. Connects when it is first used and whenever the session is gone. Rejects with EtcdCallError, `NotSent` while no server has
 * answered the connection.
 */
export class UnaryChannel {
  readonly #options: ChannelOptions;
  #session: ClientHttp2Session | undefined;
  /** The one that is not there yet. */
  #opening: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;
  readonly #underWay = new Set<UnderWay>();
  #looking = false;
  #listening = false;
  #closed = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Sends a message, prefix and all, and answers the other side's without it. At the deadline, of the monotonic clock, the call itself ends. */
  async call(
    path: string,
    frame: Buffer,
    metadata: Readonly<Record<string, string>>,
    deadlineMs: number,
  ): Promise<Buffer> {
    const session = this.#usable() ?? (await this.#connect());
    let stream: ClientHttp2Stream;
    try {
      stream = session.request({ ...HEADERS, ':path': path, ...metadata });
    } catch (error) {
      throw unsent(error);
    }
    const underWay = { stream, deadlineMs };
    this.#underWay.add(underWay);
    this.#look();
    this.#listen(session);
    try {
      return await exchange(stream, frame);
    } finally {
      this.#underWay.delete(underWay);
    }
  }

  /** Calls under way reject. */
  close(): void {
    this.#closed = true;
    this.#session?.destroy();
    this.#opening?.destroy();
  }

  #usable(): ClientHttp2Session | undefined {
    const session = this.#session;
    return session === undefined || session.closed || session.destroyed ? undefined : session;
  }

  #connect(): Promise<ClientHttp2Session> {
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** A session is there once the other side has said so: something in between may take connections for a member that is gone. */
  #open(): Promise<ClientHttp2Session> {
    const { address, tls, clock } = this.#options;
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(unsent('it is closed'));
      const session = connect(address, { ...tls, maxSessionMemory: Number.MAX_SAFE_INTEGER });
      this.#opening = session;
      let why: unknown;
      const stop = clock.after(CONNECT_MS, () => session.destroy(new Error('no answer in two seconds')));
      session.on('error', (error) => {
        why = error;
      });
      session.once('close', () => {
        stop();
        reject(unsent(why));
      });
      session.once('remoteSettings', () => {
        stop();
        this.#session = session;
        resolve(session);
      });
    });
  }

  #look(): void {
    if (this.#looking) return;
    this.#looking = true;
    const { clock } = this.#options;
    clock.after(LOOK_MS, () => {
      this.#looking = false;
      const now = clock.monotonic();
      for (const { stream, deadlineMs } of this.#underWay) if (now >= deadlineMs) cancel(stream);
      if (this.#underWay.size > 0) this.#look();
    });
  }

  /** Pings while calls are under way: etcd takes pings of idle sessions for an attack. */
  #listen(session: ClientHttp2Session): void {
    if (this.#listening) return;
    this.#listening = true;
    const { clock } = this.#options;
    clock.after(QUIET_MS, () => {
      this.#listening = false;
      if (this.#underWay.size === 0 || session.destroyed) return;
      const stop = clock.after(PONG_MS, () => session.destroy(new Error('no sign of life')));
      session.once('close', stop);
      session.ping(() => {
        session.off('close', stop);
        stop();
      });
      this.#listen(session);
    });
  }
}

const HEADERS = {
  ':method': 'POST',
  'content-type': 'application/grpc',
  te: 'trailers',
  'user-agent': 'coppice',
} as const;

interface UnderWay {
  readonly stream: ClientHttp2Stream;
  readonly deadlineMs: number;
}

const cancel = (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL);

function exchange(stream: ClientHttp2Stream, frame: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    let said: IncomingHttpHeaders | undefined;
    let why: unknown;
    const hear = (heard: IncomingHttpHeaders) => {
      if (heard['grpc-status'] !== undefined) said = heard;
    };
    const over = () => {
      if (said === undefined) reject(unanswered(stream, why));
      else if (said['grpc-status'] !== '0') reject(callError(new Error(reasonIn(said))));
      else settle(Buffer.concat(pieces), resolve, reject);
    };
    stream.once('response', hear).once('trailers', hear).once('close', over);
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= MAX_ANSWER_BYTES) pieces.push(piece);
      else cancel(stream);
    });
    stream.on('end', () => {
      if (said === undefined) return;
      stream.off('close', over);
      over();
    });
    stream.on('error', (error) => {
      why = error;
    });
    stream.end(frame);
  });
}

function settle(answer: Buffer, resolve: (message: Buffer) => void, reject: (error: EtcdCallError) => void): void {
  const isWhole =
    answer.length >= PREFIX_BYTES && answer[0] === 0 && answer.readUInt32BE(1) === answer.length - PREFIX_BYTES;
  if (isWhole) resolve(answer.subarray(PREFIX_BYTES));
  else reject(new EtcdCallError('Unclear', 'etcd gave an answer that cannot be read'));
}

/** Of a call that ended without a status. One that the other side refused to look at was not begun. */
function unanswered({ rstCode }: ClientHttp2Stream, why: unknown): EtcdCallError {
  if (rstCode === constants.NGHTTP2_REFUSED_STREAM) return unsent('the member takes no calls');
  return new EtcdCallError('Unclear', `etcd ended the call without a word: ${messageOf(why)}`, { cause: why });
}

function reasonIn({ 'grpc-status': status, 'grpc-message': message }: IncomingHttpHeaders): string {
  const text = String(message ?? '');
  try {
    return `${status} ${decodeURIComponent(text)}`;
  } catch {
    return `${status} ${text}`;
  }
}

function unsent(why: unknown): EtcdCallError {
  return new EtcdCallError('NotSent', `no connection to etcd: ${messageOf(why)}`, { cause: why });
}

const messageOf = (why: unknown): string => (why instanceof Error ? why.message : String(why ?? 'it was closed'));

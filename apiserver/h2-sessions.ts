import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../resources/ambient/clock.ts';
import { StreamHead, StreamOutgoing } from './h2-exchange.ts';

const { NGHTTP2_CANCEL } = constants;

interface H2Limits {
  /** Between requests, in milliseconds. */
  readonly idleMs: number;
  /** For a request to come, body and all. */
  readonly requestMs: number;
  /** Without taking any of an answer, or answering a ping. */
  readonly stalledMs: number;
  /** How often the times above are looked at. */
  readonly checkMs: number;
  /** Requests under way at once on a connection; more are refused before anybody sees them. */
  readonly streams: number;
}

export interface H2SessionsOptions {
  readonly clock: Clock;
  readonly limits: H2Limits;
  /** Answers a request. Its body comes on the stream. */
  readonly serve: (head: StreamHead, stream: ServerHttp2Stream, outgoing: StreamOutgoing) => void;
}

/** How long a client has to close a connection that is over, in milliseconds. */
const LINGER_MS = 1_000;
/** Bytes that a session may hold besides what is read of it; streams on top of that are refused. In megabytes. */
const SESSION_MEMORY_MB = 16;
/** Streams that a client may reset, at once and a second, before its connection is ended: each may have cost us the work of a request. */
const RESETS = { streamResetBurst: 1_000, streamResetRate: 100 };

/** Connections of clients that speak HTTP/2 to us, each of which holds all requests of a client. */
export class H2Sessions {
  readonly #options: H2SessionsOptions;
  readonly #held = new Set<HeldSession>();
  /** Requests whose bodies are not all there, and since when. */
  readonly #coming = new Map<ServerHttp2Stream, number>();
  #stopLooking: (() => void) | undefined;

  constructor(options: H2SessionsOptions) {
    this.#options = options;
  }

  /** Serves a connection on which HTTP/2 was agreed, from its first byte. */
  take(socket: TLSSocket): void {
    const { clock, limits } = this.#options;
    const session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: limits.streams, enablePush: false },
      maxSessionMemory: SESSION_MEMORY_MB,
      ...RESETS,
    });
    const held = new HeldSession(session, socket, clock.monotonic());
    this.#held.add(held);
    // What breaks a connection ends its streams, each of which says so.
    session.on('error', () => {});
    session.on('stream', (stream, headers, _flags, raw) => this.#serve(held, stream, headers, raw));
    socket.once('close', () => this.#held.delete(held));
    this.#lookLater();
  }

  /** Takes no more requests on any connection, and ends each once its requests are answered. */
  close(): void {
    for (const held of this.#held) held.close(this.#options.clock.monotonic());
  }

  #serve(held: HeldSession, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const { clock, serve } = this.#options;
    stream.on('error', () => {});
    held.open++;
    stream.once('close', () => {
      held.open--;
      held.quietSince = clock.monotonic();
      this.#coming.delete(stream);
    });
    // Reset by the client: left to itself its body would look as if it had come to its end.
    stream.once('aborted', () => stream.destroy());
    if (stream.endAfterHeaders) stream.resume();
    else {
      this.#coming.set(stream, clock.monotonic());
      stream.once('end', () => this.#coming.delete(stream));
    }
    const head = new StreamHead(headers, raw, held.socket);
    serve(head, stream, new StreamOutgoing(stream, head.method, () => held.probe(clock.monotonic())));
  }

  /** One look at all of them together costs less than a timer each. */
  #lookLater(): void {
    this.#stopLooking ??= this.#options.clock.after(this.#options.limits.checkMs, () => {
      this.#stopLooking = undefined;
      this.#look();
      if (this.#held.size > 0) this.#lookLater();
    });
  }

  #look(): void {
    const { clock, limits } = this.#options;
    const now = clock.monotonic();
    for (const [stream, since] of this.#coming) if (now - since >= limits.requestMs) giveUp(stream);
    for (const held of this.#held) {
      if (held.isOver(now, limits.stalledMs)) held.socket.destroy();
      else if (held.open === 0 && now - held.quietSince >= limits.idleMs) held.close(now);
    }
  }
}

/** Answers a request whose body does not come. */
function giveUp(stream: ServerHttp2Stream): void {
  if (!stream.headersSent && !stream.closed)
    stream.respond({ ':status': 408, 'content-length': 0 }, { endStream: true });
  stream.close(NGHTTP2_CANCEL);
}

class HeldSession {
  readonly socket: TLSSocket;
  readonly #session: ServerHttp2Session;
  /** Requests under way. */
  open = 0;
  quietSince: number;
  #probedAt: number | undefined;
  #closedAt: number | undefined;

  constructor(session: ServerHttp2Session, socket: TLSSocket, now: number) {
    this.#session = session;
    this.socket = socket;
    this.quietSince = now;
  }

  /** Asks whether the client still reads: one that takes nothing of one answer may take all else. */
  probe(now: number): void {
    if (this.#probedAt !== undefined || this.#session.destroyed) return;
    this.#probedAt = now;
    this.#session.ping(() => {
      this.#probedAt = undefined;
    });
  }

  close(now: number): void {
    this.#closedAt ??= now;
    this.#session.close();
  }

  /** Whether its client does not read, or does not hang up though nothing is left to be said. */
  isOver(now: number, stalledMs: number): boolean {
    if (this.#probedAt !== undefined && now - this.#probedAt >= stalledMs) return true;
    return (
      this.#closedAt !== undefined && this.open === 0 && now - Math.max(this.#closedAt, this.quietSince) >= LINGER_MS
    );
  }
}

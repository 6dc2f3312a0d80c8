import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { EtcdCallError } from './call-error.ts';
import {
  failureIn,
  HEADERS,
  hearStatus,
  listenForLife,
  messageOf,
  openSession,
  type SessionOptions,
  unsent,
} from './open-session.ts';

/** How often the deadlines of all calls are looked at: one timer costs less than one a call. */
const LOOK_MS = 250;
const PREFIX_BYTES = 5;
const MAX_ANSWER_BYTES = 64 << 20;
const WINDOW_BYTES = 8 << 20;

/** A message to a path of gRPC. */
export interface Call {
  readonly path: string;
  /** Prefix and all. */
  readonly frame: Buffer;
  readonly metadata: Readonly<Record<string, string>>;
  /** When the call itself ends, by the monotonic clock. */
  readonly deadlineMs: number;
  /** Ends it sooner. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls of one message each way to one member, gRPC over a session of HTTP/2 of its own: what a write takes through a gRPC library is three times
 * what it takes here. Connects when it is first used and whenever the session is gone. Rejects with EtcdCallError, `NotSent` while no server has
 * answered the connection.
 */
export class UnaryChannel {
  readonly #options: SessionOptions;
  #session: ClientHttp2Session | undefined;
  /** Not there yet: nothing may be sent on it, as nobody could tell what became of that. */
  #opening: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;
  readonly #underWay = new Set<UnderWay>();
  #looking = false;
  #listening = false;
  #closed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Answers the other side's message without its prefix. */
  async call({ path, frame, metadata, deadlineMs, signal }: Call): Promise<Buffer> {
    const session = this.#usable() ?? (await this.#connect());
    let stream: ClientHttp2Stream;
    try {
      stream = session.request({ ...HEADERS, ':path': path, ...metadata });
    } catch (error) {
      throw unsent(error);
    }
    const underWay = new UnderWay(stream, deadlineMs);
    const unwanted = () => underWay.cancel(new Error('no longer wanted'));
    this.#underWay.add(underWay);
    this.#look();
    this.#listen(session);
    signal?.addEventListener('abort', unwanted, { once: true });
    if (signal?.aborted) unwanted();
    try {
      return await underWay.exchange(frame);
    } finally {
      signal?.removeEventListener('abort', unwanted);
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

  async #open(): Promise<ClientHttp2Session> {
    if (this.#closed) throw unsent('it is closed');
    const { session, opened } = openSession(this.#options, WINDOW_BYTES);
    this.#opening = session;
    this.#session = await opened;
    return this.#session;
  }

  #look(): void {
    if (this.#looking) return;
    this.#looking = true;
    const { clock } = this.#options;
    clock.after(LOOK_MS, () => {
      this.#looking = false;
      const now = clock.monotonic();
      for (const each of this.#underWay) if (now >= each.deadlineMs) each.cancel(new Error('no answer in time'));
      if (this.#underWay.size > 0) this.#look();
    });
  }

  #listen(session: ClientHttp2Session): void {
    if (this.#listening) return;
    this.#listening = true;
    const over = () => {
      this.#listening = false;
    };
    listenForLife(session, this.#options.clock, () => this.#underWay.size > 0, over);
  }
}

/** One call from its message to its answer. */
class UnderWay {
  readonly deadlineMs: number;
  readonly #stream: ClientHttp2Stream;
  #why: unknown;

  constructor(stream: ClientHttp2Stream, deadlineMs: number) {
    this.#stream = stream;
    this.deadlineMs = deadlineMs;
  }

  cancel(why: Error): void {
    this.#why ??= why;
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  exchange(frame: Buffer): Promise<Buffer> {
    const stream = this.#stream;
    return new Promise((resolve, reject) => {
      const answer = new Answer();
      let said: IncomingHttpHeaders | undefined;
      const over = () => {
        const failure = said === undefined ? this.#unanswered() : failureIn(said);
        if (failure !== undefined) return reject(failure);
        const message = answer.message();
        if (message === undefined) reject(new EtcdCallError('Unclear', 'etcd gave an answer that cannot be read'));
        else resolve(message);
      };
      hearStatus(stream, (headers) => {
        said = headers;
      });
      stream.once('close', over);
      stream.on('data', (piece: Buffer) => {
        if (!answer.take(piece)) this.cancel(tooBig());
      });
      stream.on('end', () => {
        if (said === undefined) return;
        stream.off('close', over);
        over();
      });
      stream.on('error', (error) => {
        this.#why ??= error;
      });
      stream.end(frame);
    });
  }

  /** Of a call that ended without a status. One that the other side refused to look at was not begun. */
  #unanswered(): EtcdCallError {
    const why = this.#why;
    if (why instanceof EtcdCallError) return why;
    if (this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) return unsent('the member takes no calls');
    return new EtcdCallError('Unclear', `etcd ended the call without a word: ${messageOf(why)}`, { cause: why });
  }
}

const tooBig = () => new EtcdCallError('AnswerTooBig', `an answer of more than ${MAX_ANSWER_BYTES} bytes`);

/** The pieces of one message with its prefix. */
class Answer {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  /** False when the answer is, or says that it will be, longer than what is taken. */
  take(piece: Buffer): boolean {
    const first = this.#pieces.length === 0 && piece.length >= PREFIX_BYTES;
    this.#bytes += piece.length;
    this.#pieces.push(piece);
    return this.#bytes <= MAX_ANSWER_BYTES && !(first && piece.readUInt32BE(1) > MAX_ANSWER_BYTES);
  }

  /** Undefined when they are none. */
  message(): Buffer | undefined {
    const [only] = this.#pieces;
    const whole = this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces);
    const isWhole =
      whole.length >= PREFIX_BYTES && whole[0] === 0 && whole.readUInt32BE(1) === whole.length - PREFIX_BYTES;
    return isWhole ? whole.subarray(PREFIX_BYTES) : undefined;
  }
}

import type { Clock } from '../../../resources/ambient/clock.ts';
import { untilAborted } from '../log-store.ts';
import { CallEnding } from './call-ending.ts';
import { callError, EtcdCallError } from './call-error.ts';
import { CallSlots } from './call-slots.ts';
import { AUTHENTICATE_PATH, decodeToken, encodeUser } from './member-messages.ts';
import type { SessionOptions } from './open-session.ts';
import { UnaryChannel } from './unary-channel.ts';
import { encodeWatch, type WatchAnswer, type WatchedSpan } from './watch-messages.ts';
import { watchStream } from './watch-stream.ts';

export interface ConnectionOptions {
  /** `host:port` of one or more members of one cluster; with `https://` before it, or with `tls`, spoken to over TLS. */
  readonly endpoints: readonly string[];
  /** In PEM: whom to trust, and who we are where etcd asks for that. */
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
  readonly auth?: { readonly username: string; readonly password: string };
  readonly clock: Clock;
}

/** How long one try of a read may take, and a whole call with its retries. */
const TRY_MS = 5_000;
const CALL_MS = 10_000;
const CALLS_AT_ONCE = 128;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;

/**
 * Calls to one member of the cluster at a time, and to the next when that one fails. At most 128 calls are under way, each with a deadline,
 * and a signal ends the call itself and not only the wait for it. Rejects with EtcdCallError, or with the signal's reason.
 *
 * gRPC is spoken over sessions of HTTP/2 of our own (`UnaryChannel`, `watchStream`): a library for it takes a quarter of a second to load, and three times
 * as long for a call. Messages are given as they are sent, prefix and all, to a path of gRPC; answers are the messages of the other side.
 */
export class EtcdConnection {
  readonly #members: readonly Member[];
  readonly #auth: ConnectionOptions['auth'];
  readonly #clock: Clock;
  readonly #slots = new CallSlots(CALLS_AT_ONCE);
  readonly #closing = new AbortController();
  #current = 0;

  constructor({ endpoints, tls, auth, clock }: ConnectionOptions) {
    this.#clock = clock;
    if (endpoints.length === 0) throw new TypeError('an etcd store needs at least one endpoint');
    this.#auth = auth;
    this.#members = endpoints.map((hosts) => {
      const session = { address: addressOf(hosts, tls !== undefined), ...(tls && { tls }), clock };
      return { session, channel: new UnaryChannel(session), token: undefined };
    });
  }

  /** Something that may be done twice: tried again until it is answered, for ten seconds. */
  ask(path: string, frame: Buffer, signal?: AbortSignal): Promise<Buffer> {
    const failing = ({ failure }: EtcdCallError) => failure === 'NotSent' || failure === 'Unclear';
    return this.#call({ path, frame }, { again: failing, tryMs: TRY_MS, deadlineMs: this.deadline(), signal });
  }

  /** The same, asked once: how that failed tells of the member that was asked, and the next question goes to another. */
  askOnce(path: string, frame: Buffer, signal: AbortSignal): Promise<Buffer> {
    return this.#call({ path, frame }, { again: () => false, tryMs: TRY_MS, deadlineMs: this.deadline(), signal });
  }

  /** Something that must not be done twice: tried again only while no server has seen it. */
  send(path: string, frame: Buffer, deadlineMs: number): Promise<Buffer> {
    const unsent = ({ failure }: EtcdCallError) => failure === 'NotSent';
    return this.#call({ path, frame }, { again: unsent, tryMs: CALL_MS, deadlineMs, signal: undefined });
  }

  /** On the clock that never goes back: ten seconds from now. */
  deadline(): number {
    return this.#clock.monotonic() + CALL_MS;
  }

  /** One watch on a stream of its own, with the pace of its reader. A member without a leader ends it, so that another is asked. */
  async *watch(span: WatchedSpan, signal: AbortSignal): AsyncGenerator<WatchAnswer> {
    const index = this.#current;
    const member = this.#member(index);
    try {
      const metadata = await this.#metadata(member, this.deadline());
      for await (const answer of watchStream(member.session, { frame: encodeWatch(span), metadata }, signal)) {
        // Whoever watches anew is given another.
        if (answer.cancelReason.includes(UNKNOWN_TOKEN)) member.token = undefined;
        yield answer;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#leave(index);
      throw callError(error);
    }
  }

  /** Ends all channels. Calls still under way reject with the reason. */
  close(reason: Error): void {
    this.#closing.abort(reason);
    for (const { channel } of this.#members) channel.close();
  }

  async #exchange(member: Member, { path, frame }: Message, { deadlineMs, signal }: Try): Promise<Buffer> {
    const { channel, token: known } = member;
    if (this.#auth === undefined) return channel.call({ path, frame, metadata: NO_METADATA, deadlineMs, signal });
    const send = async () =>
      channel.call({ path, frame, metadata: await this.#metadata(member, deadlineMs), deadlineMs, signal });
    try {
      return await send();
    } catch (error) {
      // etcd forgets tokens after a while, and does nothing for one that it does not know.
      if (known === undefined || !callError(error).message.includes(UNKNOWN_TOKEN)) throw error;
      member.token = undefined;
      return send();
    }
  }

  async #metadata(member: Member, deadlineMs: number): Promise<Readonly<Record<string, string>>> {
    if (this.#auth === undefined) return NO_METADATA;
    const question = { path: AUTHENTICATE_PATH, frame: encodeUser(this.#auth), metadata: NO_METADATA, deadlineMs };
    member.token ??= decodeToken(await member.channel.call(question).catch(unasked));
    return { token: member.token };
  }

  async #call(message: Message, how: How): Promise<Buffer> {
    const { again, deadlineMs, signal } = how;
    const given = signal === undefined ? [this.#closing.signal] : [signal, this.#closing.signal];
    using ending = new CallEnding(given, deadlineMs, this.#clock);
    let entered = false;
    let last: EtcdCallError | undefined;
    try {
      if (!this.#slots.tryEnter()) await this.#slots.enter(ending.signal);
      entered = true;
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
        const member = this.#current;
        try {
          return await this.#once(message, this.#member(member), how);
        } catch (error) {
          last = callError(error);
          if (last.failure === 'NotSent' || last.failure === 'Unclear') this.#leave(member);
          if (ending.aborted || !again(last)) throw last;
        }
        await this.#clock.sleep(waitMs, ending.signal);
      }
    } catch (error) {
      for (const end of given) end.throwIfAborted();
      throw last ?? callError(error);
    } finally {
      if (entered) this.#slots.leave();
    }
  }

  #once(message: Message, member: Member, { deadlineMs, tryMs, signal }: How): Promise<Buffer> {
    const tried = { deadlineMs: Math.min(this.#clock.monotonic() + tryMs, deadlineMs), signal };
    const answer = this.#exchange(member, message, tried);
    return signal === undefined ? answer : untilAborted(answer, signal);
  }

  #member(index: number): Member {
    const member = this.#members[index];
    if (member === undefined) throw new RangeError(`no member ${index}`);
    return member;
  }

  /** The next member, unless another call has gone on already. */
  #leave(member: number): void {
    if (this.#current === member) this.#current = (member + 1) % this.#members.length;
  }
}

interface Member {
  readonly session: SessionOptions;
  readonly channel: UnaryChannel;
  /** Of our user, once etcd has given one out. */
  token: string | undefined;
}

interface Message {
  readonly path: string;
  readonly frame: Buffer;
}

interface Try {
  /** On the clock that never goes back. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

interface How extends Try {
  readonly again: (error: EtcdCallError) => boolean;
  readonly tryMs: number;
}

const NO_METADATA: Readonly<Record<string, string>> = {};
const UNKNOWN_TOKEN = 'invalid auth token';

/** What is asked for a user who could not be named was not sent, however that failed. */
function unasked(error: unknown): never {
  const failed = callError(error);
  throw failed.failure === 'Unclear' ? new EtcdCallError('NotSent', failed.message, { cause: error }) : failed;
}

const addressOf = (endpoint: string, secure: boolean): string =>
  /^https?:\/\//.test(endpoint) && !(secure && endpoint.startsWith('http:'))
    ? endpoint
    : `${secure ? 'https' : 'http'}://${endpoint.replace('http://', '')}`;

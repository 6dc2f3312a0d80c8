import {
  type CallOptions,
  type ClientDuplexStream,
  InterceptingCall,
  type Interceptor,
  type Metadata,
} from '@grpc/grpc-js';
import { type IDefaultPolicyContext, NoopPolicy } from 'cockatiel';
import { ConnectionPool } from 'etcd3/lib/connection-pool.js';
import type { IOptions } from 'etcd3/lib/options.js';
import { AuthClient, type IStatusResponse, KVClient, MaintenanceClient } from 'etcd3/lib/rpc.js';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { untilAborted } from '../log-store.ts';
import { CallEnding } from './call-ending.ts';
import { callError, EtcdCallError } from './call-error.ts';
import { CallSlots } from './call-slots.ts';
import { UnaryChannel } from './unary-channel.ts';
import { decodeWatch, encodeWatch, WATCH_PATH, type WatchAnswer, type WatchedSpan } from './watch-messages.ts';

export interface ConnectionOptions {
  /** `host:port` of one or more members of one cluster; with `https://` before it, or with `tls`, spoken to over TLS. */
  readonly endpoints: readonly string[];
  /** In PEM: whom to trust, and who we are where etcd asks for that. */
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
  readonly auth?: { readonly username: string; readonly password: string };
  readonly clock: Clock;
}

/** A call as the client of a service is asked for it. */
type KvCall<T> = (kv: KVClient, options: CallOptions) => Promise<T>;

/** How long one try of a read may take, and a whole call with its retries. */
const TRY_MS = 5_000;
const CALL_MS = 10_000;
const CALLS_AT_ONCE = 128;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;
const MAX_ANSWER_BYTES = 64 << 20;

const GRPC_OPTIONS = {
  // The default of 4 MiB is less than a page of big objects.
  'grpc.max_receive_message_length': MAX_ANSWER_BYTES,
  // Finds out within 15 s that a member is gone without a word. etcd refuses pings closer than 5 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
} as const;

/**
 * Calls to one member of the cluster at a time, and to the next when that one fails. At most 128 calls are under way, each with a deadline,
 * and a signal ends the call itself and not only the wait for it. Rejects with EtcdCallError, or with the signal's reason.
 *
 * Transactions, and the question for the latest revision, which are what a write and a read wait for, go over channels of their own (`UnaryChannel`). Of etcd3 only the pool (channels, TLS, the token of a user) and the generated clients are used: its watcher crashes the process when it is
 * cancelled after a compaction, and its breakers turn one answer that is too big into an outage.
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
    this.#members = endpoints.map((hosts) => ({
      pool: new ConnectionPool(poolOptions({ hosts, tls, auth, clock })),
      channel: new UnaryChannel({ address: addressOf(hosts, tls !== undefined), ...(tls && { tls }), clock }),
      token: undefined,
    }));
  }

  /** Something that may be done twice: tried again until it is answered, for ten seconds. */
  read<T>(call: KvCall<T>, signal?: AbortSignal): Promise<T> {
    return this.#again(({ pool }, options) => call(new KVClient(pool), options()), signal);
  }

  /** The same for a message already encoded, prefix and all, to a path of gRPC. Answers the message of the other side. */
  ask(path: string, frame: Buffer): Promise<Buffer> {
    const call: Call<Buffer> = (member, options, deadlineMs) =>
      this.#exchange(member, { path, frame, deadlineMs }, options);
    return this.#again(call, undefined);
  }

  /** The same, asked once: how that failed tells of the member that was asked, and the next question goes to another. */
  askOnce(path: string, frame: Buffer, signal: AbortSignal): Promise<Buffer> {
    const call: Call<Buffer> = (member, options, deadlineMs) =>
      untilAborted(this.#exchange(member, { path, frame, deadlineMs }, options), signal);
    return this.#call(call, { again: () => false, tryMs: TRY_MS, deadlineMs: this.deadline(), signal });
  }

  /** What a member says of itself, such as how large its database is. */
  status(signal?: AbortSignal): Promise<IStatusResponse> {
    return this.#again(({ pool }, options) => new MaintenanceClient(pool).status(options()), signal);
  }

  /** Something that must not be done twice: tried again only while no server has seen it. */
  write<T>(call: KvCall<T>, deadlineMs: number): Promise<T> {
    return this.#call(({ pool }, options) => call(new KVClient(pool), options()), onlyUnsent(deadlineMs));
  }

  /** The same for a message already encoded, prefix and all, to a path of gRPC. Answers the message of the other side. */
  send(path: string, frame: Buffer, deadlineMs: number): Promise<Buffer> {
    const message = { path, frame, deadlineMs };
    return this.#call((member, options) => this.#exchange(member, message, options), onlyUnsent(deadlineMs));
  }

  /** On the clock that never goes back: ten seconds from now. */
  deadline(): number {
    return this.#clock.monotonic() + CALL_MS;
  }

  /** One watch on a stream of its own, with the pace of its reader. A member without a leader ends it, so that another is asked. */
  async *watch(span: WatchedSpan, signal: AbortSignal): AsyncGenerator<WatchAnswer> {
    const member = this.#current;
    try {
      const stream = await openWatch(this.#member(member).pool);
      const cancel = () => stream.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      try {
        if (signal.aborted) return;
        stream.write(span);
        yield* stream as AsyncIterable<WatchAnswer>;
      } finally {
        signal.removeEventListener('abort', cancel);
        stream.cancel();
      }
      throw new EtcdCallError('Unclear', 'etcd ended the watch');
    } catch (error) {
      if (signal.aborted) return;
      this.#leave(member);
      throw callError(error);
    }
  }

  /** Ends all channels. Calls still under way reject with the reason. */
  close(reason: Error): void {
    this.#closing.abort(reason);
    for (const { pool, channel } of this.#members) {
      pool.close();
      channel.close();
    }
  }

  #exchange(member: Member, { path, frame, deadlineMs }: Message, options: () => CallOptions): Promise<Buffer> {
    if (this.#auth === undefined) return member.channel.call(path, frame, NO_METADATA, deadlineMs);
    const send = (token: string) => member.channel.call(path, frame, { token }, deadlineMs);
    return this.#sendAs(this.#auth, member, send, options());
  }

  /** etcd forgets tokens after a while, and does nothing for one that it does not know. */
  async #sendAs<T>(
    { username, password }: NonNullable<ConnectionOptions['auth']>,
    member: Member,
    send: (token: string) => Promise<T>,
    options: CallOptions,
  ): Promise<T> {
    const ask = () => new AuthClient(member.pool).authenticate({ name: username, password }, options);
    const known = member.token;
    member.token ??= (await ask().catch(unasked)).token;
    try {
      return await send(member.token);
    } catch (error) {
      if (known === undefined || !callError(error).message.includes(UNKNOWN_TOKEN)) throw error;
      member.token = (await ask().catch(unasked)).token;
      return send(member.token);
    }
  }

  #again<T>(call: Call<T>, signal: AbortSignal | undefined): Promise<T> {
    const failing = ({ failure }: EtcdCallError) => failure === 'NotSent' || failure === 'Unclear';
    return this.#call(call, { again: failing, tryMs: TRY_MS, deadlineMs: this.deadline(), signal });
  }

  async #call<T>(call: Call<T>, how: How): Promise<T> {
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
          return await this.#once(call, this.#member(member), how, ending);
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

  #once<T>(call: Call<T>, member: Member, { deadlineMs, tryMs }: How, ending: CallEnding): Promise<T> {
    const now = this.#clock.monotonic();
    const leftMs = Math.max(1, Math.min(tryMs, deadlineMs - now));
    const options = () => ({
      deadline: this.#clock.now() + leftMs,
      interceptors: [cancelledBy(ending.signal)],
    });
    return call(member, options, now + leftMs);
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
  readonly pool: ConnectionPool;
  readonly channel: UnaryChannel;
  /** Of our user, once etcd has given one out. */
  token: string | undefined;
}

/** `deadlineMs` is that of the try, on the clock that never goes back. */
type Call<T> = (member: Member, options: () => CallOptions, deadlineMs: number) => Promise<T>;

interface Message {
  readonly path: string;
  readonly frame: Buffer;
  readonly deadlineMs: number;
}

const NO_METADATA: Readonly<Record<string, string>> = {};

interface How {
  readonly again: (error: EtcdCallError) => boolean;
  readonly tryMs: number;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

const onlyUnsent = (deadlineMs: number): How => ({
  again: ({ failure }) => failure === 'NotSent',
  tryMs: CALL_MS,
  deadlineMs,
  signal: undefined,
});

const UNKNOWN_TOKEN = 'invalid auth token';

/** A write whose user could not be named was not sent, however that failed. */
function unasked(error: unknown): never {
  const failed = callError(error);
  throw failed.failure === 'Unclear' ? new EtcdCallError('NotSent', failed.message, { cause: error }) : failed;
}

const addressOf = (endpoint: string, secure: boolean): string =>
  /^https?:\/\//.test(endpoint) && !(secure && endpoint.startsWith('http:'))
    ? endpoint
    : `${secure ? 'https' : 'http'}://${endpoint.replace('http://', '')}`;

/** Passes failures on as ours: etcd3 closes a channel, with all that waits in it, on errors it knows as its own. gRPC connects again by itself. */
class PassOn extends NoopPolicy {
  override async execute<T>(
    fn: (context: IDefaultPolicyContext) => PromiseLike<T> | T,
    signal?: AbortSignal,
  ): Promise<T> {
    try {
      return await super.execute(fn, signal);
    } catch (error) {
      throw callError(error);
    }
  }
}

function poolOptions(options: {
  hosts: string;
  tls: ConnectionOptions['tls'] | undefined;
  auth: ConnectionOptions['auth'] | undefined;
  clock: Clock;
}): IOptions {
  const { hosts, tls, auth, clock } = options;
  const callOptions = () => ({ deadline: clock.now() + TRY_MS });
  return {
    hosts,
    grpcOptions: GRPC_OPTIONS,
    faultHandling: { host: () => new PassOn(), global: new NoopPolicy() },
    ...(tls === undefined ? {} : { credentials: credentialsOf(tls) }),
    ...(auth === undefined ? {} : { auth: { ...auth, callOptions } }),
  };
}

function credentialsOf({ ca, cert, key }: NonNullable<ConnectionOptions['tls']>): NonNullable<IOptions['credentials']> {
  return {
    rootCertificate: Buffer.from(ca),
    ...(cert === undefined ? {} : { certChain: Buffer.from(cert) }),
    ...(key === undefined ? {} : { privateKey: Buffer.from(key) }),
  };
}

/** A stream of a member that has a leader. */
function openWatch(pool: ConnectionPool): Promise<ClientDuplexStream<WatchedSpan, WatchAnswer>> {
  return pool.withConnection('Watch', ({ client, metadata }) => {
    const stream = client.makeBidiStreamRequest(WATCH_PATH, encodeWatch, decodeWatch, leaderRequired(metadata));
    // Who reads it hears of it too; what comes after the reader has left is nobody's concern.
    stream.on('error', () => {});
    return stream;
  });
}

function leaderRequired(metadata: Metadata): Metadata {
  const required = metadata.clone();
  required.set('hasleader', 'true');
  return required;
}

/** Cancels the call when the signal aborts. */
function cancelledBy(signal: AbortSignal): Interceptor {
  return (options, next) => {
    const call = new InterceptingCall(next(options), {
      start(metadata, _, start) {
        const cancel = () => call.cancelWithStatus(1, 'no longer wanted');
        signal.addEventListener('abort', cancel, { once: true });
        start(metadata, {
          onReceiveStatus(status, report) {
            signal.removeEventListener('abort', cancel);
            report(status);
          },
        });
        if (signal.aborted) cancel();
      },
    });
    return call;
  };
}

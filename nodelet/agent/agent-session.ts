import { isIP, type Socket } from 'node:net';
import type { Clock } from '../../resources/ambient/clock.ts';
import { DriverError } from '../drivers/driver.ts';
import type { AgentConnection, AgentExecRequest, AgentHello, GuestInfo } from './agent-connection.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { GuestCommand, refusal } from './guest-command.ts';
import {
  AgentFrame,
  decodeError,
  decodeHello,
  decodeInfo,
  ENTROPY_BYTES,
  encodeExec,
  encodeFrame,
  encodeMeeting,
  encodeTime,
  type Frame,
  HostFrame,
  PROTOCOL_VERSION,
  ProtocolError,
} from './protocol.ts';

const KNOCK_MS = 100;
const MAX_OPEN = 1024;
const MAX_ADDRESSES = 32;

interface Request {
  readonly answer: number;
  readonly done: PromiseWithResolvers<Uint8Array>;
}

interface SessionOptions {
  readonly clock: Clock;
  readonly nonce: Uint8Array;
  /** Fresh randomness of that many bytes. */
  readonly entropy: (bytes: number) => Uint8Array;
}

/** The host's side of a session over one open socket. Made by `connectAgent`. */
export class AgentSession implements AgentConnection {
  readonly #socket: Socket;
  readonly #options: SessionOptions;
  readonly #decoder: FrameDecoder;
  readonly #hello = Promise.withResolvers<AgentHello>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #requests = new Map<number, Request>();
  readonly #commands = new Map<number, GuestCommand>();
  readonly #drainWaiters = new Set<() => void>();
  #greeting: AgentHello | undefined;
  #lastChannel = 0;
  #end: DriverError | undefined;

  constructor(socket: Socket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#decoder = new FrameDecoder(options.nonce);
    this.#hello.promise.catch(() => {});
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('drain', () => this.#drained());
    socket.on('error', (error) =>
      this.#finish(new DriverError('AgentUnavailable', `the connection to the guest agent broke: ${error.message}`)),
    );
    socket.on('close', () =>
      this.#finish(new DriverError('AgentUnavailable', 'the connection to the guest agent was closed')),
    );
  }

  /**
   * Knocks until the agent answers. Rejects with the signal's reason, or `AgentUnavailable` when the socket closes first
   * or the agent speaks another version (then with `Unsupported`).
   */
  async meet(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    try {
      await Promise.race([this.#hello.promise, this.#knock(stop)]);
    } finally {
      over.abort();
    }
  }

  /** The port takes bytes before the guest reads it: a knock still on its way is not followed by another. */
  async #knock(signal: AbortSignal): Promise<void> {
    for (;;) {
      if (this.#socket.writableLength === 0 && this.#end === undefined)
        this.#socket.write(encodeMeeting(this.#options.nonce));
      await this.#options.clock.sleep(KNOCK_MS, signal);
    }
  }

  get hello(): AgentHello {
    if (this.#greeting === undefined) throw new DriverError('AgentUnavailable', 'the guest agent has not answered yet');
    return this.#greeting;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  async exec(request: AgentExecRequest, signal: AbortSignal): Promise<GuestCommand> {
    signal.throwIfAborted();
    const payload = execPayload(request);
    const channel = this.#open();
    const command = new GuestCommand(
      {
        send: (type, bytes) => this.#send(type, channel, bytes),
        writable: () => this.#writable(),
        over: () => {
          this.#commands.delete(channel);
          signal.removeEventListener('abort', kill);
        },
      },
      request.stdin,
    );
    const kill = () => command.kill();
    this.#commands.set(channel, command);
    this.#send(HostFrame.EXEC, channel, payload);
    signal.addEventListener('abort', kill, { once: true });
    await abortable(command.started, signal);
    return command;
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#request(HostFrame.PING, AgentFrame.PONG, signal);
  }

  async info(signal: AbortSignal): Promise<GuestInfo> {
    const lines = decodeInfo(await this.#request(HostFrame.INFO, AgentFrame.INFO, signal));
    const uptime = Number(lines.find(([key]) => key === 'uptime_ms')?.[1]);
    const addresses = lines.filter(([key, value]) => key === 'address' && isIP(value) !== 0).map(([, value]) => value);
    return {
      hostname: lines.find(([key]) => key === 'hostname')?.[1] ?? '',
      addresses: addresses.slice(0, MAX_ADDRESSES),
      uptimeMs: Number.isSafeInteger(uptime) && uptime >= 0 ? uptime : 0,
    };
  }

  async shutdown(signal: AbortSignal): Promise<void> {
    await this.#request(HostFrame.SHUTDOWN, AgentFrame.DONE, signal);
  }

  async setTime(ms: number, signal: AbortSignal): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0) throw new DriverError('Invalid', `not a time after 1970: ${ms} ms`);
    await this.#request(HostFrame.SET_TIME, AgentFrame.DONE, signal, encodeTime(ms));
  }

  async setIdentity(identity: { readonly hostname: string }, signal: AbortSignal): Promise<void> {
    const payload = Buffer.concat([this.#options.entropy(ENTROPY_BYTES), Buffer.from(identity.hostname, 'utf8')]);
    if (payload.length > 512) throw new DriverError('Invalid', 'the host name is too long');
    await this.#request(HostFrame.SET_IDENTITY, AgentFrame.DONE, signal, payload);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#finish(new DriverError('AgentUnavailable', 'the session with the guest agent was closed'));
    await this.closed;
  }

  async #request(type: HostFrame, answer: number, signal: AbortSignal, payload?: Uint8Array): Promise<Uint8Array> {
    signal.throwIfAborted();
    const channel = this.#open();
    const done = Promise.withResolvers<Uint8Array>();
    this.#requests.set(channel, { answer, done });
    this.#send(type, channel, payload);
    try {
      return await abortable(done.promise, signal);
    } finally {
      this.#requests.delete(channel);
    }
  }

  /** A channel number nobody uses. */
  #open(): number {
    if (this.#end !== undefined) throw this.#end;
    if (this.#requests.size + this.#commands.size >= MAX_OPEN) {
      throw new DriverError('AgentUnavailable', `${MAX_OPEN} requests wait for the guest agent already`);
    }
    do this.#lastChannel = this.#lastChannel >= 0xffff_ffff ? 1 : this.#lastChannel + 1;
    while (this.#requests.has(this.#lastChannel) || this.#commands.has(this.#lastChannel));
    return this.#lastChannel;
  }

  #send(type: HostFrame, channel: number, payload?: Uint8Array): void {
    if (this.#end === undefined) this.#socket.write(encodeFrame(type, channel, payload));
  }

  #writable(): Promise<void> {
    if (this.#end !== undefined || !this.#socket.writableNeedDrain) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drainWaiters.add(resolve);
    return promise;
  }

  #drained(): void {
    for (const wake of this.#drainWaiters) wake();
    this.#drainWaiters.clear();
  }

  #receive(chunk: Uint8Array): void {
    if (this.#end !== undefined) return;
    try {
      for (const frame of this.#decoder.push(chunk)) this.#take(frame);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#finish(
        new DriverError('AgentUnavailable', `the guest agent broke the protocol: ${error.message}`, { cause: error }),
      );
    }
  }

  #take(frame: Frame): void {
    if (frame.type === AgentFrame.HELLO) {
      this.#greet(frame.payload);
      return;
    }
    const request = this.#requests.get(frame.channel);
    if (frame.channel === 0 && frame.type === AgentFrame.ERROR)
      throw new ProtocolError(decodeError(frame.payload).message);
    if (request === undefined) {
      // Nobody waits: the late answer to a request that was given up, or output of a command that ended.
      this.#commands.get(frame.channel)?.take(frame);
    } else if (frame.type === request.answer) {
      request.done.resolve(Uint8Array.from(frame.payload));
    } else if (frame.type === AgentFrame.ERROR) {
      request.done.reject(refusal(frame.payload));
    } else {
      throw new ProtocolError(`a frame of type ${frame.type} answers no request`);
    }
  }

  /** The first HELLO counts; later ones answer knocks that were on their way. */
  #greet(payload: Uint8Array): void {
    if (this.#greeting !== undefined) return;
    const { protocolVersion, bootId, agentVersion } = decodeHello(payload);
    if (protocolVersion !== PROTOCOL_VERSION) {
      const text = `the guest agent speaks protocol ${protocolVersion}, this program ${PROTOCOL_VERSION}: build the image again`;
      this.#finish(new DriverError('Unsupported', text));
      return;
    }
    this.#greeting = { agentVersion, bootId };
    this.#hello.resolve(this.#greeting);
  }

  #finish(error: DriverError): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.#hello.reject(error);
    for (const request of this.#requests.values()) request.done.reject(error);
    for (const command of [...this.#commands.values()]) command.fail(error);
    this.#drained();
    this.#socket.destroy();
    if (this.#socket.closed) this.#closed.resolve();
    else this.#socket.once('close', () => this.#closed.resolve());
  }
}

function execPayload(request: AgentExecRequest): Uint8Array {
  try {
    return encodeExec({
      argv: request.command,
      env: Object.entries(request.env ?? {}),
      stdin: request.stdin,
      ...(request.tty === undefined ? {} : { tty: request.tty }),
      ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new DriverError('Invalid', error.message, { cause: error });
  }
}

/** `promise`, or the signal's reason when it aborts first. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    promise.catch(() => {});
  }
}

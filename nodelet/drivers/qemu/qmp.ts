import { connect, type Socket } from 'node:net';
import Type from 'typebox';
import { Check } from 'typebox/schema';
import type { Clock } from '../../../resources/ambient/clock.ts';

export interface QmpEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface QmpOptions {
  readonly socketPath: string;
  readonly clock: Clock;
  /** Told every event, in order, from the greeting on. */
  onEvent(event: QmpEvent): void;
  /** How long the greeting may take, in milliseconds; 1000. Without one another client has the socket. */
  readonly greetingMs?: number;
}

/** QEMU refused a command. */
class QmpError extends Error {
  readonly className: string;
  constructor(command: string, className: string, description: string) {
    super(`${command}: ${description}`);
    this.name = 'QmpError';
    this.className = className;
  }
}

const GREETING_MS = 1000;
/** A line longer than this is not from a QEMU. */
const MAX_LINE = 1024 * 1024;
const MAX_PENDING = 64;

const Greeting = Type.Object({ QMP: Type.Object({}) });
const Event = Type.Object({ event: Type.String(), data: Type.Optional(Type.Record(Type.String(), Type.Unknown())) });
const Failure = Type.Object({
  id: Type.Optional(Type.Number()),
  error: Type.Object({ class: Type.String(), desc: Type.String() }),
});
const Reply = Type.Object({ id: Type.Number(), return: Type.Unknown() });

interface Pending {
  readonly command: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** One session with a QEMU's monitor. Any breach of the protocol ends it. */
export class QmpClient implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #options: QmpOptions;
  readonly #pending = new Map<number, Pending>();
  readonly #greeted = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #parts: Buffer[] = [];
  #partBytes = 0;
  #nextId = 1;
  #error: Error | undefined;

  private constructor(options: QmpOptions) {
    this.#options = options;
    this.#greeted.promise.catch(() => {});
    this.#socket = connect(options.socketPath);
    this.#socket.on('error', (error) => this.#end(error));
    this.#socket.on('close', () => this.#end(new Error('the monitor closed the connection')));
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  /** Resolves once commands are taken. Rejects when nobody listens, no greeting comes in time, or the signal aborts. */
  static async connect(options: QmpOptions, signal: AbortSignal): Promise<QmpClient> {
    signal.throwIfAborted();
    const client = new QmpClient(options);
    const greetingMs = options.greetingMs ?? GREETING_MS;
    const cancel = options.clock.after(greetingMs, () =>
      client.#end(
        new Error(`no greeting from the monitor within ${greetingMs} ms: another program may be attached to it`),
      ),
    );
    const onAbort = () => client.#end(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await client.#greeted.promise;
      await client.execute('qmp_capabilities', {}, signal);
      return client;
    } catch (error) {
      client.#end(new Error('the session was given up'));
      throw error;
    } finally {
      cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Resolves when the session has ended, by either side. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Runs a command; resolves with what it returned, unchecked. Throws `QmpError` when QEMU refuses it. Aborting only stops waiting: QEMU may still do it. */
  execute(command: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#pending.size >= MAX_PENDING)
      return Promise.reject(new Error(`${MAX_PENDING} monitor commands wait already`));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The reply to a command nobody waits for any more finds no entry and is dropped.
      const leave = () => {
        this.#pending.delete(id);
        reject(signal.reason);
      };
      const done = () => {
        this.#pending.delete(id);
        signal.removeEventListener('abort', leave);
      };
      this.#pending.set(id, {
        command,
        resolve: (value) => {
          done();
          resolve(value);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      signal.addEventListener('abort', leave, { once: true });
      this.#socket.write(`${JSON.stringify({ execute: command, arguments: args, id })}\n`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(new Error('the session was closed'));
    await this.#closed.promise;
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0 && this.#error === undefined; end = rest.indexOf(10)) {
      const line = Buffer.concat([...this.#parts, rest.subarray(0, end)]);
      this.#parts = [];
      this.#partBytes = 0;
      rest = rest.subarray(end + 1);
      if (line.length > MAX_LINE) this.#end(new Error(`a monitor line is longer than ${MAX_LINE} bytes`));
      else this.#line(line.toString('utf8').trim());
    }
    if (rest.length === 0 || this.#error !== undefined) return;
    this.#parts.push(rest);
    this.#partBytes += rest.length;
    if (this.#partBytes > MAX_LINE) this.#end(new Error(`a monitor line is longer than ${MAX_LINE} bytes`));
  }

  #line(line: string): void {
    if (line === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#end(new Error(`the monitor said what is not JSON: ${line.slice(0, 80)}`));
      return;
    }
    if (Check(Event, message)) this.#options.onEvent({ event: message.event, data: message.data ?? {} });
    else if (Check(Reply, message)) this.#pending.get(message.id)?.resolve(message.return);
    else if (Check(Failure, message)) {
      const pending = message.id === undefined ? undefined : this.#pending.get(message.id);
      pending?.reject(new QmpError(pending.command, message.error.class, message.error.desc));
    } else if (Check(Greeting, message)) this.#greeted.resolve();
    else this.#end(new Error(`the monitor said something unknown: ${line.slice(0, 80)}`));
  }

  #end(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#socket.destroy();
    this.#parts = [];
    this.#greeted.reject(error);
    for (const pending of [...this.#pending.values()]) pending.reject(error);
    this.#closed.resolve();
  }
}

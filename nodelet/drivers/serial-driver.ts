import type { Clock } from '../../resources/ambient/clock.ts';
import {
  type Driver,
  type DriverCapabilities,
  DriverError,
  type ExecRequest,
  type GuestProcess,
  type GuestSpec,
  type HostCapacity,
  type ImageFacts,
  type LogOptions,
  type ObservedGuest,
  type ObservedVolume,
} from './driver.ts';
import { orAborted } from './or-aborted.ts';
import type { Semaphore } from './semaphore.ts';

/** How long an operation may take, in milliseconds, from the moment it is its turn. `stop` has the grace on top. */
interface Deadlines {
  readonly create: number;
  readonly start: number;
  readonly stop: number;
  readonly pause: number;
  readonly resume: number;
  readonly remove: number;
  readonly clear: number;
  readonly volume: number;
}

const DEADLINES: Deadlines = {
  create: 120_000,
  start: 60_000,
  stop: 30_000,
  pause: 10_000,
  resume: 10_000,
  remove: 60_000,
  clear: 600_000,
  volume: 60_000,
};

/** Operations that may wait for one guest; more is a caller gone wild. */
const MAX_WAITING = 32;

interface SerialDriverOptions {
  readonly clock: Clock;
  /** Shared by every driver of this machine; as many places as it has cores. */
  readonly coldStarts: Semaphore;
  readonly deadlines?: Partial<Deadlines>;
}

interface Queue {
  tail: Promise<void>;
  waiting: number;
}

/**
 * The one clever wrapper over a naive driver: at most one operation a guest at a time, in the order asked; deadlines; a bound on cold starts; one
 * orderly end. A driver is made ready by its own factory, so there is no way to use one before.
 *
 * The caller of an operation that is late or aborted is answered at once; the guest's next operation still waits until the late one has really ended.
 */
export class SerialDriver implements Driver {
  readonly #inner: Driver;
  readonly #options: SerialDriverOptions;
  readonly #deadlines: Deadlines;
  readonly #queues = new Map<string, Queue>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(inner: Driver, options: SerialDriverOptions) {
    this.#inner = inner;
    this.#options = options;
    this.#deadlines = { ...DEADLINES, ...options.deadlines };
  }

  get name(): Driver['name'] {
    return this.#inner.name;
  }

  get capabilities(): DriverCapabilities {
    return this.#inner.capabilities;
  }

  capacity(signal: AbortSignal): Promise<HostCapacity> {
    this.#closing.signal.throwIfAborted();
    return this.#inner.capacity(signal);
  }

  async list(signal: AbortSignal): Promise<readonly ObservedGuest[]> {
    this.#closing.signal.throwIfAborted();
    return await this.#inner.list(signal);
  }

  async leakedSlots(signal: AbortSignal): Promise<number> {
    this.#closing.signal.throwIfAborted();
    return await this.#inner.leakedSlots(signal);
  }

  changes(signal: AbortSignal): AsyncIterable<string> {
    return this.#inner.changes(AbortSignal.any([signal, this.#closing.signal]));
  }

  create(spec: GuestSpec, signal: AbortSignal): Promise<void> {
    return this.#serial('create', spec.id, this.#deadlines.create, signal, (s) => this.#inner.create(spec, s));
  }

  async start(id: string, signal: AbortSignal): Promise<void> {
    const release = await this.#turn(id, signal);
    let place: Disposable;
    try {
      place = await this.#options.coldStarts.acquire(AbortSignal.any([signal, this.#closing.signal]));
    } catch (error) {
      release();
      throw error;
    }
    const done = () => {
      place[Symbol.dispose]();
      release();
    };
    await this.#timed(`start of guest ${id}`, this.#deadlines.start, signal, (s) => this.#inner.start(id, s), done);
  }

  stop(id: string, options: { readonly graceMs: number }, signal: AbortSignal): Promise<void> {
    const deadline = this.#deadlines.stop + options.graceMs;
    return this.#serial('stop', id, deadline, signal, (s) => this.#inner.stop(id, options, s));
  }

  pause(id: string, signal: AbortSignal): Promise<void> {
    return this.#serial('pause', id, this.#deadlines.pause, signal, (s) => this.#inner.pause(id, s));
  }

  resume(id: string, signal: AbortSignal): Promise<void> {
    return this.#serial('resume', id, this.#deadlines.resume, signal, (s) => this.#inner.resume(id, s));
  }

  remove(id: string, signal: AbortSignal): Promise<void> {
    return this.#serial('remove', id, this.#deadlines.remove, signal, (s) => this.#inner.remove(id, s));
  }

  clear(signal: AbortSignal): Promise<number> {
    this.#closing.signal.throwIfAborted();
    return this.#timed(
      'the clearing',
      this.#deadlines.clear,
      signal,
      (s) => this.#inner.clear(s),
      () => {},
    );
  }

  async volumes(signal: AbortSignal): Promise<readonly ObservedVolume[]> {
    this.#closing.signal.throwIfAborted();
    return await this.#inner.volumes(signal);
  }

  keepVolume(volume: ObservedVolume, signal: AbortSignal): Promise<void> {
    return this.#ofVolume('making', volume.id, signal, (s) => this.#inner.keepVolume(volume, s));
  }

  removeVolume(id: string, signal: AbortSignal): Promise<void> {
    return this.#ofVolume('removal', id, signal, (s) => this.#inner.removeVolume(id, s));
  }

  async exec(id: string, request: ExecRequest, signal: AbortSignal): Promise<GuestProcess> {
    this.#closing.signal.throwIfAborted();
    if (request.command.length === 0) throw new DriverError('Invalid', 'the command to run is empty');
    return await this.#inner.exec(id, request, AbortSignal.any([signal, this.#closing.signal]));
  }

  logs(id: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#inner.logs(id, options, AbortSignal.any([signal, this.#closing.signal]));
  }

  image(path: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    this.#closing.signal.throwIfAborted();
    return this.#inner.image(path, signal);
  }

  /** Aborts what runs, waits for it to end, then detaches the driver. Guests go on running. Any number of calls is one end. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort(new DriverError('Failed', `the ${this.name} driver is closed`));
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#inner[Symbol.asyncDispose]();
  }

  async #serial(
    what: string,
    id: string,
    deadlineMs: number,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const release = await this.#turn(id, signal);
    await this.#timed(`${what} of guest ${id}`, deadlineMs, signal, work, release);
  }

  /** One operation a volume at a time. */
  async #ofVolume(what: string, id: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>) {
    const release = await this.#turn(`volume ${id}`, signal);
    await this.#timed(`${what} of volume ${id}`, this.#deadlines.volume, signal, work, release);
  }

  /** Waits for the guest's turn; resolves with the function that ends it. */
  async #turn(id: string, signal: AbortSignal): Promise<() => void> {
    this.#closing.signal.throwIfAborted();
    const queue = this.#queues.get(id) ?? { tail: Promise.resolve(), waiting: 0 };
    if (queue.waiting >= MAX_WAITING)
      throw new DriverError('Failed', `${queue.waiting} operations already wait for guest ${id}`);
    this.#queues.set(id, queue);
    const mine = Promise.withResolvers<void>();
    const before = queue.tail;
    queue.tail = before.then(() => mine.promise);
    queue.waiting += 1;
    // The turn ends behind the turns before it, also when this caller left early: nobody overtakes an operation that still runs.
    void queue.tail.then(() => {
      queue.waiting -= 1;
      if (queue.waiting === 0) this.#queues.delete(id);
    });
    try {
      await orAborted(before, AbortSignal.any([signal, this.#closing.signal]));
    } catch (error) {
      mine.resolve();
      throw error;
    }
    return () => mine.resolve();
  }

  async #timed<T>(
    what: string,
    deadlineMs: number,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    done: () => void,
  ): Promise<T> {
    const expired = new AbortController();
    const cancel = this.#options.clock.after(deadlineMs, () =>
      expired.abort(new DriverError('Failed', `${what} did not finish within ${deadlineMs / 1000} s`)),
    );
    const ends = AbortSignal.any([signal, expired.signal, this.#closing.signal]);
    const running = (async () => await work(ends))().finally(() => {
      cancel();
      this.#running.delete(running);
      done();
    });
    this.#running.add(running);
    return await orAborted(running, ends);
  }
}

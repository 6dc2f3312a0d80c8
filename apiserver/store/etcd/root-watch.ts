import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { untilAborted } from '../log-store.ts';
import { type Batch, StoreError } from '../store.ts';
import { WatchHub } from '../watch-hub.ts';
import { batchesAfter, type Source } from './batches.ts';
import { confirmIdentity } from './identity.ts';
import { encodeEmptyPut, PUT_PATH } from './member-messages.ts';
import type { KeyEvent } from './watch-messages.ts';

interface RootWatchOptions extends Source {
  readonly uid: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watchBufferBytes: number;
  readonly gate?: WatchGate | undefined;
}

/** Where only members write. */
export interface WatchGate {
  /** An event of the store's own keys. */
  heard(event: KeyEvent): void;
  /** What must resolve before what was read since is told to anybody; undefined while nothing must. */
  closed(): Promise<unknown> | undefined;
  /** Resolves once it is a member, at some moment since the call, however it came to be one. */
  confirm(signal: AbortSignal): Promise<void>;
}

/** In an etcd of one's own every revision comes down the watch at once, so waiting this long means that a message is late. */
const PATIENCE_MS = 2_000;
/** Where others write too, a revision that does not come is theirs as a rule. */
const SHARED_PATIENCE_MS = 20;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;

/** How long anybody waits for a revision that etcd has told. */
const REACH_MS = 10_000;

interface Waiter {
  readonly revision: number;
  readonly sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (error: StoreError) => void;
}

/**
 * The one watch that moves the store's revision, over all outages. It goes on from the last revision it published, so nothing is missed or
 * repeated; when that was compacted away meanwhile, its readers are ended with `Compacted` and it begins anew at the present.
 *
 * It asks for no progress notifications: before 3.4.25 and 3.5.8 etcd may announce a revision before its events. Who must see the watch pass
 * a revision that belongs to somebody else's keys has a key of the store's own written instead, which cannot overtake anything.
 */
export class RootWatch {
  readonly #options: RootWatchOptions;
  readonly #waiting = new Set<Waiter>();
  #hub: WatchHub;
  /** What the hubs before this one handed out. */
  #publishedBefore = 0;
  #ended: StoreError | undefined;
  #patienceMs = PATIENCE_MS;
  #syncing: Promise<void> | undefined;
  #looking = false;
  /** Whether it was begun since it last broke off: an outage is told once. */
  #following = true;

  constructor(options: RootWatchOptions, revision: number) {
    this.#options = options;
    this.#hub = new WatchHub(revision, options.watchBufferBytes);
  }

  get revision(): number {
    return this.#hub.revision;
  }

  /** Bytes of all batches handed out so far. */
  get published(): number {
    return this.#publishedBefore + this.#hub.published;
  }

  reaches(position: number): boolean {
    return this.#hub.reaches(position);
  }

  follow(position: number, signal: AbortSignal): AsyncGenerator<Batch> {
    return this.#hub.follow(position, signal);
  }

  /** Follows etcd until the signal aborts. Resolves with what makes the data unusable, if anything does. */
  async run(signal: AbortSignal): Promise<StoreError | undefined> {
    const { clock, log } = this.#options;
    let waitMs = FIRST_WAIT_MS;
    while (!signal.aborted) {
      const before = this.revision;
      try {
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof StoreError && error.reason === 'Unreadable') return error;
        if (this.revision > before) waitMs = FIRST_WAIT_MS;
        const details = { revision: this.revision, error: messageOf(error) };
        if (this.#following) log.info('the watch of etcd broke off', details);
        else log.debug('the watch of etcd was not begun again', details);
        this.#following = false;
      }
      await clock.sleep(waitMs, signal).catch(() => {});
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
    return undefined;
  }

  /** Ends all readers, and all who wait for a revision. */
  end(error: StoreError): void {
    this.#ended ??= error;
    this.#hub.end(error);
    for (const waiter of [...this.#waiting]) waiter.reject(error);
  }

  /** Resolves once everything up to a revision of this etcd was published. StoreError `Unavailable` when that takes ten seconds. */
  async reached(revision: number, signal?: AbortSignal): Promise<void> {
    if (this.revision >= revision) return;
    signal?.throwIfAborted();
    if (this.#ended !== undefined) throw this.#ended;
    await new Promise<void>((resolve, reject) => {
      const finish = (then: () => void) => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
        then();
      };
      const waiter: Waiter = {
        revision,
        sinceMs: this.#options.clock.monotonic(),
        resolve: () => finish(resolve),
        reject: (error) => finish(() => reject(error)),
      };
      const onAbort = () => finish(() => reject(signal?.reason));
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
      this.#lookLater();
    });
  }

  /** One look at all who wait costs less than timers for each. */
  #lookLater(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.#options.clock.after(this.#patienceMs / 2, () => {
      this.#looking = false;
      this.#look();
      if (this.#waiting.size > 0) this.#lookLater();
    });
  }

  #look(): void {
    const now = this.#options.clock.monotonic();
    let isStuck = false;
    for (const waiter of [...this.#waiting]) {
      if (now - waiter.sinceMs >= REACH_MS) waiter.reject(overdue(waiter.revision));
      else isStuck ||= now - waiter.sinceMs >= this.#patienceMs;
    }
    if (isStuck) this.#sync();
  }

  /** Until disposed, sees to it that something comes down every watch under the root once in a while. */
  keepMoving(): Disposable {
    const { clock } = this.#options;
    let stop = () => {};
    const again = () => {
      stop = clock.after(this.#patienceMs, () => {
        this.#sync();
        again();
      });
    };
    again();
    return { [Symbol.dispose]: () => stop() };
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { gate } = this.#options;
    const now = await confirmIdentity(this.#options, this.revision, signal);
    this.#following = true;
    try {
      for await (const batches of batchesAfter(this.#options, this.revision, signal, (event) => gate?.heard(event))) {
        const closed = gate?.closed();
        if (closed !== undefined) await untilAborted(closed, signal);
        this.#publish(batches);
      }
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== 'Compacted') throw error;
      this.#options.log.error('history was compacted away during an outage: caches must list again', { revision: now });
      await gate?.confirm(signal);
      this.#restart(now, error);
    }
  }

  #publish(batches: readonly Batch[]): void {
    const { revisions } = this.#options;
    let last = revisions.theirs(this.revision);
    for (const { revision } of batches) {
      const next = revisions.theirs(revision);
      if (next > last + 1) this.#patienceMs = SHARED_PATIENCE_MS;
      last = next;
    }
    this.#hub.publish(batches);
    this.#wake();
  }

  #restart(revision: number, error: StoreError): void {
    const old = this.#hub;
    this.#publishedBefore += old.published;
    this.#hub = new WatchHub(revision, this.#options.watchBufferBytes);
    old.end(error);
    this.#wake();
  }

  #wake(): void {
    if (this.#waiting.size === 0) return;
    const { revision } = this;
    // Those who are told leave the set while it is gone through.
    for (const waiter of this.#waiting) if (waiter.revision <= revision) waiter.resolve();
  }

  /** Writes the store's own key; a failure leaves those who wait to their deadlines. */
  #sync(): void {
    const { connection, layout, log } = this.#options;
    this.#syncing ??= connection
      .send(PUT_PATH, encodeEmptyPut(layout.sync), connection.deadline())
      .then(
        () => {},
        (error: unknown) => log.debug('the watch of etcd was not moved', { error: messageOf(error) }),
      )
      .finally(() => {
        this.#syncing = undefined;
      });
  }
}

function overdue(revision: number): StoreError {
  return new StoreError('Unavailable', `the watch of etcd did not come to revision ${revision} in ten seconds`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

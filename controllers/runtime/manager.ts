import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { Duty, Outcome } from './duty.ts';
import { WorkQueue } from './queue.ts';
import { hasReason } from './write.ts';

const DEADLINE_MS = 60_000;

interface ManagerOptions {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

export interface DutyHealth {
  readonly state: 'standing by' | 'waiting for caches' | 'running' | 'stopped';
  /** Keys that wait to be looked at. */
  readonly waiting: number;
  readonly lastError?: { readonly key: string; readonly message: string; readonly atMs: number };
}

/** Runs duties: each with its own queue and workers, started in order, stopped in the opposite order. */
export class Manager implements AsyncDisposable {
  readonly #options: ManagerOptions;
  readonly #running: RunningDuty[] = [];

  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  /** Begins a duty; it looks at nothing before its caches have been seen whole. */
  start(duty: Duty): void {
    const running = new RunningDuty(duty, this.#options);
    this.#running.push(running);
    running.start();
  }

  get health(): Readonly<Record<string, DutyHealth>> {
    return Object.fromEntries(this.#running.map((running) => [running.name, running.health]));
  }

  /** Aborts what the duties are doing and resolves when all have let go. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of this.#running.toReversed()) await running[Symbol.asyncDispose]();
  }
}

class RunningDuty implements AsyncDisposable {
  readonly #duty: Duty;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #queue: WorkQueue;
  readonly #stop = new AbortController();
  #state: DutyHealth['state'] = 'waiting for caches';
  #lastError: DutyHealth['lastError'];
  #unwatch: (() => void)[] = [];
  #work: Promise<void> = Promise.resolve();

  constructor(duty: Duty, { clock, random, log }: ManagerOptions) {
    this.#duty = duty;
    this.#clock = clock;
    this.#log = log.child({ duty: duty.name });
    this.#queue = new WorkQueue({ clock, random });
  }

  get name(): string {
    return this.#duty.name;
  }

  get health(): DutyHealth {
    return {
      state: this.#state,
      waiting: this.#queue.length,
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    };
  }

  start(): void {
    const enqueue = (key: string, afterMs = 0) => this.#queue.addAfter(key, afterMs);
    this.#unwatch = this.#duty.watches.map((watch) => watch.start(enqueue));
    this.#work = this.#run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#work;
    for (const unwatch of this.#unwatch) unwatch();
    this.#queue[Symbol.dispose]();
    this.#state = 'stopped';
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      await Promise.all(this.#duty.watches.map((watch) => watch.whenSynced(signal)));
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    this.#state = 'running';
    // No worker rejects because of the signal, so this waits for the last one to let go.
    await Promise.all(Array.from({ length: this.#duty.workers }, () => this.#worker(signal)));
  }

  async #worker(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.take(signal).catch((error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      });
      if (key === undefined) return;
      try {
        this.#settle(key, await this.#attempt(key, signal));
      } catch (error) {
        if (!signal.aborted) this.#failed(key, error);
      } finally {
        this.#queue.done(key);
      }
    }
  }

  async #attempt(key: string, signal: AbortSignal): Promise<Outcome> {
    const deadlineMs = this.#duty.deadlineMs ?? DEADLINE_MS;
    const deadline = new AbortController();
    const cancel = this.#clock.after(deadlineMs, () =>
      deadline.abort(new Error(`not done after ${deadlineMs / 1000} s`)),
    );
    try {
      return await this.#duty.reconcile(key, AbortSignal.any([signal, deadline.signal]));
    } finally {
      cancel();
    }
  }

  #settle(key: string, outcome: Outcome): void {
    if (outcome.again === true) {
      this.#queue.addBackedOff(key);
      return;
    }
    this.#queue.forget(key);
    if (outcome.requeueAfterMs !== undefined) this.#queue.addAfter(key, outcome.requeueAfterMs);
  }

  #failed(key: string, error: unknown): void {
    this.#queue.addBackedOff(key);
    // Somebody wrote since we read: the cache will show what, and the key is looked at again.
    if (hasReason(error, 'Conflict')) {
      this.#log.debug('lost a race', { key });
      return;
    }
    const message = error instanceof Error ? error.message : String(error);
    this.#lastError = { key, message, atMs: this.#clock.now() };
    this.#log.error('reconcile failed', { key, error: message, failures: this.#queue.failures(key) });
  }
}

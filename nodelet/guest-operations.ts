import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { DriverError } from './drivers/driver.ts';
import type { Action } from './plan.ts';

/** Why the last tries of an action on a guest failed. */
export interface Trouble {
  readonly action: Action;
  /** How often in a row. */
  readonly failures: number;
  readonly reason: DriverError['reason'];
  readonly message: string;
  /** Not to be tried again before this time of the monotonic clock; undefined = not by itself. */
  readonly retryAtMs: number | undefined;
}

interface Operation {
  readonly action: Action;
  /** Of the monotonic clock. */
  readonly beganMs: number;
  readonly ending: AbortController;
  readonly done: Promise<void>;
}

interface GuestOperationsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Called when an operation on the guest has ended, well or not. */
  readonly onEnd: (guestID: string) => void;
}

/** Tries of a start or a creation before the VM is called failed. */
const MAX_STARTS = 5;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** What is missing may come by somebody else's doing: looked for steadily, and never a failure of the VM. */
const LACK_RETRY_MS = 15_000;

/**
 * Work on guests that takes its time, so that a worker of the queue never does: at most one operation a guest. Its failures are remembered until the same
 * action succeeds or another is begun.
 */
export class GuestOperations {
  readonly #options: GuestOperationsOptions;
  readonly #running = new Map<string, Operation>();
  readonly #troubles = new Map<string, Trouble>();
  readonly #unsettled = new Set<string>();

  constructor(options: GuestOperationsOptions) {
    this.#options = options;
  }

  /** Whether anything is being done to any guest now. */
  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** What is being done to the guest now. */
  current(guestID: string): Action | undefined {
    return this.#running.get(guestID)?.action;
  }

  /** For how many milliseconds the action has been under way; undefined: it is not. */
  underWayMs(guestID: string, action: Action): number | undefined {
    const running = this.#running.get(guestID);
    return running?.action === action ? this.#options.clock.monotonic() - running.beganMs : undefined;
  }

  /**
   * Whether a creation may yet bring forth a guest that no list shows: it is under way, or it ended early, which a driver may learn late. Until a removal
   * has had its turn after it.
   */
  unsettled(guestID: string): boolean {
    return this.#unsettled.has(guestID);
  }

  /** Why `action` failed, if it is what failed last. */
  trouble(guestID: string, action: Action): Trouble | undefined {
    const trouble = this.#troubles.get(guestID);
    return trouble?.action === action ? trouble : undefined;
  }

  /** Forgets failures: the wish changed, or the guest is gone. */
  forgive(guestID: string): void {
    this.#troubles.delete(guestID);
  }

  /** Begins an operation; the guest must have none. It is aborted with the signal. */
  begin(guestID: string, action: Action, work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): void {
    if (this.#running.has(guestID)) throw new Error(`guest ${guestID} is already being worked on`);
    const ending = new AbortController();
    const ends = AbortSignal.any([signal, ending.signal]);
    if (action === 'create') this.#unsettled.add(guestID);
    const done = (async () => await work(ends))()
      .then(
        () => {
          this.forgive(guestID);
          if (action === 'create' || action === 'destroy') this.#unsettled.delete(guestID);
        },
        (error: unknown) => {
          if (!ends.aborted) this.#fail(guestID, action, error);
        },
      )
      .then(() => {
        this.#running.delete(guestID);
        this.#options.onEnd(guestID);
      });
    this.#running.set(guestID, { action, beganMs: this.#options.clock.monotonic(), ending, done });
  }

  /** Ends what is being done to the guest; `onEnd` follows. */
  abort(guestID: string): void {
    this.#running.get(guestID)?.ending.abort(new DriverError('Failed', 'something else is wanted of the guest by now'));
  }

  /** Resolves when nothing is being done any more: after the signal given to `begin` has aborted. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map((operation) => operation.done));
  }

  #fail(guestID: string, action: Action, error: unknown): void {
    const failures = (this.trouble(guestID, action)?.failures ?? 0) + 1;
    const reason = error instanceof DriverError ? error.reason : 'Failed';
    const message = error instanceof Error ? error.message : String(error);
    const delayMs = this.#retryMs(action, reason, failures);
    const retryAtMs = delayMs === undefined ? undefined : this.#options.clock.monotonic() + delayMs;
    this.#troubles.set(guestID, { action, failures, reason, message, retryAtMs });
    this.#options.log.info('guest operation failed', {
      guest: guestID,
      action,
      failures,
      why: message,
      againInMs: delayMs,
    });
  }

  #retryMs(action: Action, reason: DriverError['reason'], failures: number): number | undefined {
    if (reason === 'Unsupported' || reason === 'Invalid') return undefined;
    if (reason === 'ImageMissing' || reason === 'VolumeMissing' || reason === 'NoSpace' || reason === 'InUse')
      return LACK_RETRY_MS;
    if ((action === 'start' || action === 'create') && failures >= MAX_STARTS) return undefined;
    const ceiling = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
    return ceiling * (1 - this.#options.random() / 4);
  }
}

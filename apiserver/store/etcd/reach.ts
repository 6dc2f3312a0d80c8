import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { StoreError } from '../store.ts';

interface ReachOptions {
  /** Asks etcd for the present, once, within the signal's time. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How often is looked whether anything was heard, and how long nothing need be before etcd is asked. */
const LOOK_MS = 500;
const QUIET_MS = 2_000;
/** How long one question may take: etcd may be slow and there. One is begun at every second look, so that an old one, which waits in vain, holds up none. */
const PROBE_MS = 5_000;
const LOOKS_A_PROBE = 2;
/** Looks in a row without an answer, after the quiet, that make an outage: five seconds in all. Looks, as a process that was paused has asked nobody. */
const SILENT_LOOKS = 6;
/** How long who asks for something waits for the end of an outage before it is told of it. Nobody who tries again at once spins. */
const PATIENCE_MS = 250;

/**
 * Whether etcd answers. Every answer counts, so that questions of its own are asked only when there was none for two seconds; after five without any it is away,
 * and is asked every second until it is back.
 */
export class Reach {
  readonly #options: ReachOptions;
  #heardAtMs: number;
  #silentLooks = 0;
  #why: unknown;
  #back: PromiseWithResolvers<void> | undefined;

  constructor(options: ReachOptions) {
    this.#options = options;
    this.#heardAtMs = options.clock.monotonic();
  }

  /** Why etcd is not to be counted on, undefined while it is. */
  get outage(): string | undefined {
    if (this.#back === undefined) return undefined;
    return `etcd does not answer for ${this.#silentS} s`;
  }

  /** etcd answered. */
  heard(): void {
    const silentS = this.#silentLooks === 0 ? 0 : this.#silentS;
    this.#heardAtMs = this.#options.clock.monotonic();
    if (this.#silentLooks === 0) return;
    this.#silentLooks = 0;
    if (this.#back === undefined) return;
    this.#back.resolve();
    this.#back = undefined;
    this.#options.log.info('etcd answers again', { silentSeconds: silentS });
  }

  /** Undefined while etcd answers. During an outage, what rejects with `Unavailable` soon, or resolves when etcd is back by then. */
  whenAway(): Promise<void> | undefined {
    return this.#back === undefined ? undefined : this.#wait(this.#back.promise);
  }

  /** Looks after etcd until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const probes = new Set<Promise<void>>();
    while (!signal.aborted) {
      await clock.sleep(LOOK_MS, signal).catch(() => {});
      if (signal.aborted || clock.monotonic() - this.#heardAtMs < QUIET_MS) continue;
      if (this.#silentLooks % LOOKS_A_PROBE === 0) {
        const probe = this.#probe(signal).finally(() => probes.delete(probe));
        probes.add(probe);
      }
      this.#silentLooks++;
      if (this.#silentLooks > SILENT_LOOKS) this.#begin();
    }
    await Promise.all(probes);
  }

  async #probe(ending: AbortSignal): Promise<void> {
    const over = new AbortController();
    const stop = this.#options.clock.after(PROBE_MS, () => over.abort(new Error('no answer in time')));
    try {
      await this.#options.probe(AbortSignal.any([ending, over.signal]));
      this.heard();
    } catch (error) {
      this.#why = error;
    } finally {
      stop();
    }
  }

  #begin(): void {
    if (this.#back !== undefined) return;
    this.#back = Promise.withResolvers();
    this.#options.log.error('etcd does not answer', { silentSeconds: this.#silentS, error: detailsOf(this.#why) });
  }

  async #wait(back: Promise<void>): Promise<void> {
    const patience = Promise.withResolvers<void>();
    const stop = this.#options.clock.after(PATIENCE_MS, () => patience.reject(this.#refusal()));
    try {
      await Promise.race([back, patience.promise]);
    } finally {
      stop();
    }
  }

  #refusal(): StoreError {
    const why = this.#why;
    const known = why instanceof StoreError && why.reason === 'Unavailable';
    return new StoreError('Unavailable', known ? why.message : 'etcd does not answer', { cause: why });
  }

  get #silentS(): number {
    return Math.floor((this.#options.clock.monotonic() - this.#heardAtMs) / 1000);
  }
}

/** What the library said, which is for the log only. */
function detailsOf(why: unknown): string {
  const said = why instanceof Error && why.cause instanceof Error ? why.cause : why;
  return said instanceof Error ? said.message : String(said ?? 'no answer in time');
}

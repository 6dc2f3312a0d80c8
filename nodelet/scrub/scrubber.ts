import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { type ClearDeps, clearHost } from './clear-host.ts';
import type { Clearing } from './scrub-file.ts';

interface ScrubberOptions extends Omit<ClearDeps, 'nowText'> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when a scrub has an answer, or may be tried again, which may be at once or after some milliseconds. */
  readonly onEnd: (afterMs: number) => void;
}

/** How soon again when something stands in the way that goes by itself, and when it could not be done. */
const WAIT_MS = 1_000;
const FAILED_MS = 5_000;

interface Work {
  readonly key: string;
  readonly ending: AbortController;
  readonly done: Promise<void>;
}

/** Clears the host when its Host object says so, one scrub at a time and beside all else the nodelet does. */
export class Scrubber {
  readonly #options: ScrubberOptions;
  #work: Work | undefined;
  #answer: { readonly key: string; readonly clearing: Clearing } | undefined;

  constructor(options: ScrubberOptions) {
    this.#options = options;
  }

  /** What came of the scrub that the Host tells of, if it is not answered there already. Begins it if nobody has; `onEnd` follows. */
  look(host: Host, signal: AbortSignal): Clearing | undefined {
    const scrub = host.status?.scrub;
    if (scrub?.outcome !== 'Running' || scrub.clearing !== undefined) {
      // It is told. Should it be asked for again under the same name, guests may have come since.
      this.#answer = undefined;
      return undefined;
    }
    const key = `${host.metadata.uid} ${scrub.requestedAt}`;
    if (this.#answer?.key === key) return this.#answer.clearing;
    if (this.#work === undefined) this.#begin(key, host, signal);
    return undefined;
  }

  /** Leaves it where it is; it is begun again with the next look. */
  abort(): void {
    this.#work?.ending.abort(new Error('this nodelet may not act now'));
  }

  /** Resolves when nothing is at work any more, after the signal given to `look` has aborted. */
  async drained(): Promise<void> {
    await this.#work?.done;
  }

  #begin(key: string, host: Host, signal: AbortSignal): void {
    const ending = new AbortController();
    const done = this.#run(key, host, AbortSignal.any([signal, ending.signal]));
    this.#work = { key, ending, done };
  }

  async #run(key: string, host: Host, signal: AbortSignal): Promise<void> {
    const { clock, log, onEnd } = this.#options;
    const nowText = () => rfc3339(clock.now());
    let againMs = WAIT_MS;
    try {
      const clearing = await clearHost(host, { ...this.#options, nowText }, signal);
      if (clearing !== undefined) {
        this.#answer = { key, clearing };
        againMs = 0;
        log.info('scrub answered', { result: clearing.result, why: clearing.message });
      }
    } catch (error) {
      againMs = FAILED_MS;
      if (!signal.aborted) log.error('scrub not done, tried again', { why: String(error) });
    } finally {
      this.#work = undefined;
      onEnd(againMs);
    }
  }
}

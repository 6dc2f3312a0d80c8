import type { Clock } from '../../../resources/ambient/clock.ts';
import { signalUntil } from '../../../resources/ambient/signal-until.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import type { ResourceRef } from '../../../resources/meta/define-kind.ts';
import { type KubeObject, objectKey } from '../../../resources/meta/object.ts';
import { resourceId } from '../../../resources/meta/resource-id.ts';
import type { ApiClient } from '../client.ts';
import type { WatchEvent } from '../watch.ts';
import { CutBuffer, type WholeRevision } from './cut-buffer.ts';
import { listCut } from './list-cut.ts';

/** Revisions that nobody will see any more. */
export interface Gap {
  readonly from: number;
  /** The last one. */
  readonly to: number;
  readonly why: string;
}

export interface CutListener {
  /** Everything there is at a revision: at the beginning, and again after a gap. */
  begun(objects: ReadonlyMap<string, readonly KubeObject[]>, revision: number): void;
  /** The next revision in which anything happened. */
  step(whole: WholeRevision): void;
  /** Every watch has passed this revision. */
  passed(revision: number): void;
  gap(gap: Gap): void;
  /** A watch broke off, and is begun again; in words. */
  broke(why: string): void;
}

interface WatchedCutOptions {
  readonly client: ApiClient;
  readonly resources: readonly ResourceRef[];
  readonly listener: CutListener;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Events that may wait for a watch that is behind; 100,000 when absent. More is a gap. */
  readonly mostWaiting?: number;
}

const MOST_WAITING = 100_000;
const WATCH_S = 300;
/** How long past its agreed end a silent watch is believed in. */
const OVERTIME_MS = 30_000;
/** A watch that the others have waited for this long is begun again. */
const BEHIND_MS = 30_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * Follows several resources as one: begins with a list of all at one revision, and goes on revision by revision, each told once and in order when all watches
 * have passed it. A watch that ends or breaks is begun again where it was. What the server does not tell any more is a gap: it is told, and everything is
 * listed anew.
 */
export class WatchedCut {
  readonly #options: WatchedCutOptions;
  #buffer: CutBuffer | undefined;
  /** Breaks off one watch, so that it is begun again. */
  readonly #breakOff = new Map<string, (why: Error) => void>();
  /** Since when some watches are ahead of others. */
  #apartMs: number | undefined;

  constructor(options: WatchedCutOptions) {
    this.#options = options;
  }

  /** The last revision that was told, or passed; 0 before the first list. */
  get revision(): number {
    return this.#buffer?.taken ?? 0;
  }

  /** Goes on until the signal aborts, then resolves. Rejects when the first list fails; from then on failures are told and retried. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    let gap: { readonly from: number; readonly why: string } | undefined;
    while (!signal.aborted) {
      const begun = await this.#list(gap !== undefined, signal);
      if (begun === undefined) return;
      const { objects, revision } = begun;
      const { listener, resources } = this.#options;
      if (gap !== undefined) listener.gap({ ...gap, to: revision - 1 });
      this.#buffer = new CutBuffer(resources.map(resourceId), revision);
      this.#apartMs = undefined;
      listener.begun(objects, revision);
      const why = await this.#followAll(this.#buffer, signal);
      gap = { from: this.#buffer.taken + 1, why };
    }
  }

  async #list(again: boolean, signal: AbortSignal): Promise<Awaited<ReturnType<typeof listCut>> | undefined> {
    const { client, resources } = this.#options;
    for (let failures = 0; ; failures++) {
      try {
        return await listCut(client, resources, signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        if (!again) throw error;
        this.#options.listener.broke(textOf(error));
      }
      await this.#rest(failures, signal);
    }
  }

  /** Resolves with why it cannot go on from here, or when the signal aborts. */
  async #followAll(buffer: CutBuffer, signal: AbortSignal): Promise<string> {
    const over = new AbortController();
    const ended = AbortSignal.any([signal, over.signal]);
    let why = '';
    const follow = async (ref: ResourceRef) => {
      try {
        await this.#follow(ref, buffer, ended);
      } catch (error) {
        if (!ended.aborted) why = `${ref.plural}: ${textOf(error)}`;
        over.abort();
      }
    };
    await Promise.all(this.#options.resources.map(follow));
    return why;
  }

  /** Watches one resource, again and again. Rejects when it cannot go on where it was. */
  async #follow(ref: ResourceRef, buffer: CutBuffer, signal: AbortSignal): Promise<void> {
    const id = resourceId(ref);
    for (let failures = 0; !signal.aborted; ) {
      const from = buffer.comeTo(id);
      try {
        await this.#watch(ref, buffer, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ForGood || isExpired(error)) throw error;
        this.#options.listener.broke(`the watch of ${ref.plural} broke off: ${textOf(error)}`);
      }
      buffer.rewind(id);
      failures = buffer.comeTo(id) > from ? 0 : failures + 1;
      await this.#rest(failures, signal);
    }
  }

  async #watch(ref: ResourceRef, buffer: CutBuffer, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const id = resourceId(ref);
    const broken = new AbortController();
    this.#breakOff.set(id, (why) => broken.abort(why));
    const { signal: either, stop } = signalUntil([signal, broken.signal], {
      afterMs: WATCH_S * 1000 + OVERTIME_MS,
      late: () => new Error('it did not end in time'),
      clock,
    });
    try {
      const asked = { resourceVersion: String(buffer.comeTo(id)), allowWatchBookmarks: true, timeoutSeconds: WATCH_S };
      const events = await client.resource<KubeObject>(ref).watch(asked, either);
      for await (const event of events) this.#take(ref, event, buffer);
    } catch (error) {
      throw either.aborted ? either.reason : error;
    } finally {
      stop();
      this.#breakOff.delete(id);
    }
    either.throwIfAborted();
  }

  #take(ref: ResourceRef, { type, object }: WatchEvent<KubeObject>, buffer: CutBuffer): void {
    const resource = resourceId(ref);
    const revision = Number(object.metadata.resourceVersion);
    if (!Number.isSafeInteger(revision))
      throw new ForGood(`its versions are not numbers: ${object.metadata.resourceVersion}`);
    if (type === 'BOOKMARK') buffer.passed(resource, revision);
    else
      buffer.add(
        { resource, key: objectKey(object.metadata), object: type === 'DELETED' ? undefined : object },
        revision,
      );
    this.#drain(buffer);
  }

  #drain(buffer: CutBuffer): void {
    const { listener, clock, mostWaiting = MOST_WAITING } = this.#options;
    const before = buffer.taken;
    for (const whole of buffer.take()) listener.step(whole);
    const nowMs = clock.monotonic();
    this.#apartMs ??= nowMs;
    if (buffer.taken > before) {
      this.#apartMs = undefined;
      listener.passed(buffer.taken);
    } else if (buffer.size > mostWaiting) {
      throw new ForGood(`${buffer.size} events wait for the watch of ${buffer.last.join(' and ')}`);
    } else if (nowMs - this.#apartMs > BEHIND_MS) {
      this.#apartMs = undefined;
      for (const id of buffer.last) this.#breakOff.get(id)?.(new Error('it is behind the others'));
    }
  }

  async #rest(failures: number, signal: AbortSignal): Promise<void> {
    if (failures === 0 || signal.aborted) return;
    const ms = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1)) * (1 - this.#options.random() / 2);
    await this.#options.clock.sleep(ms, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

/** It cannot go on like this. */
class ForGood extends Error {}

/** The server does not have what comes after the revision; or has not come to it, as one whose store was put back. */
function isExpired(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return (
    error.reason === 'Expired' ||
    error.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') === true
  );
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

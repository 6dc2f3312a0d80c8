import type { ApiClient } from '../../apiserver/client/client.ts';
import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Event } from '../../resources/kinds/event.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { fingerprint } from './fingerprint.ts';
import { hasReason } from './write.ts';

/** What happened to an object. */
interface Occurrence {
  readonly type: 'Normal' | 'Warning';
  /** One word. */
  readonly reason: string;
  /** One line. */
  readonly message: string;
}

/** Events an object may have at once, and how often one more. */
const BURST = 25;
const REFILL_MS = 300_000;
/** Objects whose rate is remembered, and events that wait to be sent. */
const MAX_BUCKETS = 4096;
const MAX_WAITING = 1000;

interface EventRecorderOptions {
  readonly client: ApiClient;
  /** Who says so, such as `system:controller:placement`. */
  readonly component: string;
  /** Which of its processes, such as `controllers-x7k2f`. */
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Records core Events, best effort: what cannot be sent is dropped, and no duty waits for it. The same occurrence again raises the count of
 * the event there is (its name is derived from object, reason and message, so that a restart finds it too). Each object has 25 events
 * at once and one more every five minutes.
 */
export class EventRecorder implements AsyncDisposable {
  readonly #options: EventRecorderOptions;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  readonly #waiting: Event[] = [];
  readonly #stop = new AbortController();
  #sending: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  record(object: KubeObject, occurrence: Occurrence): void {
    if (this.#stop.signal.aborted || this.#waiting.length >= MAX_WAITING || !this.#mayHave(object.metadata.uid)) return;
    this.#waiting.push(this.#eventOf(object, occurrence));
    this.#sending ??= this.#send();
  }

  /** Resolves when everything recorded so far has been sent or dropped. */
  async settled(): Promise<void> {
    await this.#sending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#sending;
  }

  #mayHave(uid: string): boolean {
    const nowMs = this.#options.clock.monotonic();
    const bucket = this.#buckets.get(uid) ?? { tokens: BURST, atMs: nowMs };
    const tokens = Math.min(BURST, bucket.tokens + (nowMs - bucket.atMs) / REFILL_MS);
    // Deleted and set again, so that the map is in order of use and the longest unused goes first.
    this.#buckets.delete(uid);
    this.#buckets.set(uid, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: nowMs });
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size > MAX_BUCKETS && !oldest.done) this.#buckets.delete(oldest.value);
    return tokens >= 1;
  }

  async #send(): Promise<void> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next === undefined || this.#stop.signal.aborted) {
        // In the same step as the look at the queue: what is recorded from here on must begin anew.
        this.#sending = undefined;
        return;
      }
      try {
        await this.#sendOne(next, this.#stop.signal);
      } catch (error) {
        this.#options.log.debug('event dropped', { name: next.metadata.name, error: String(error) });
      }
    }
  }

  async #sendOne(event: Event, signal: AbortSignal): Promise<void> {
    const events = this.#options.client.resource<Event>(Event, event.metadata.namespace);
    try {
      await events.create(event, {}, signal);
    } catch (error) {
      if (!hasReason(error, 'AlreadyExists')) throw error;
      const there = await events.get(event.metadata.name, signal);
      await events.patch(
        event.metadata.name,
        {
          metadata: { resourceVersion: there.metadata.resourceVersion },
          count: (there.count ?? 1) + 1,
          lastTimestamp: event.lastTimestamp,
        },
        {},
        signal,
      );
    }
  }

  #eventOf(object: KubeObject, { type, reason, message }: Occurrence): Event {
    const { component, instance, clock } = this.#options;
    const { name, uid, resourceVersion } = object.metadata;
    const { namespace } = object.metadata;
    const at = rfc3339(clock.now());
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: `${name}.${fingerprint([uid, component, type, reason, message].join('\n')).toString(16).padStart(16, '0')}`,
        namespace: namespace ?? 'default',
        uid: '',
        resourceVersion: '',
        creationTimestamp: at,
      },
      involvedObject: {
        apiVersion: object.apiVersion,
        kind: object.kind,
        // Where events of what has no namespace are looked for, none is asked for.
        ...(namespace === undefined ? {} : { namespace }),
        name,
        uid,
        resourceVersion,
      },
      type,
      reason,
      message,
      count: 1,
      firstTimestamp: at,
      lastTimestamp: at,
      reportingComponent: component,
      reportingInstance: instance,
      source: { component },
    };
  }
}

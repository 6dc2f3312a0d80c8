import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Kind, ResourceRef } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { Cache, type CacheView } from './cache.ts';
import { Reflector, type ReflectorHealth } from './reflector.ts';

interface InformersOptions {
  /** Whose eyes the caches see with. */
  readonly client: ApiClient;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
}

interface Informer {
  readonly cache: CacheView<KubeObject>;
  readonly health: () => ReflectorHealth;
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly stop: AbortController;
  /** Holds only part of each object. */
  readonly trimmed: boolean;
  /** Set while it runs. */
  running?: Promise<void>;
}

/** Where a duty gets its caches. */
export interface Caches {
  /** The cache of a built-in kind's objects in all namespaces. */
  of<T extends KubeObject>(kind: Kind<T>): CacheView<T>;
  /**
   * The cache of a resource known only by name. Only what `keep` answers is held, unless somebody reads the resource whole already.
   * Made once: a second call answers the same cache.
   */
  trimmed(ref: ResourceRef, keep: (object: KubeObject) => KubeObject): CacheView<KubeObject>;
  /** Forgets a trimmed resource that is no longer served. */
  drop(ref: ResourceRef): Promise<void>;
}

/** One cache a resource, shared by all who read it; each is kept by a reflector of its own. */
export class Informers implements Caches, AsyncDisposable {
  readonly #options: InformersOptions;
  readonly #informers = new Map<string, Informer>();
  #started = false;

  constructor(options: InformersOptions) {
    this.#options = options;
  }

  of<T extends KubeObject>(kind: Kind<T>): CacheView<T> {
    const informer = this.#informer<T>(kind, undefined);
    if (informer.trimmed)
      throw new Error(`${kind.plural} are held in part already; who needs them whole must ask first`);
    return informer.cache as CacheView<T>;
  }

  trimmed(ref: ResourceRef, keep: (object: KubeObject) => KubeObject): CacheView<KubeObject> {
    return this.#informer<KubeObject>(ref, keep).cache;
  }

  async drop(ref: ResourceRef): Promise<void> {
    const informer = this.#informers.get(resourceId(ref));
    if (informer?.trimmed !== true) return;
    this.#informers.delete(resourceId(ref));
    informer.stop.abort();
    await informer.running;
  }

  /** Starts every reflector; those asked for later start at once. */
  start(): void {
    this.#started = true;
    for (const informer of this.#informers.values()) begin(informer);
  }

  /** How each cache fares, by resource. */
  get health(): Readonly<Record<string, ReflectorHealth>> {
    return Object.fromEntries([...this.#informers].map(([id, informer]) => [id, informer.health()]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const informer of this.#informers.values()) informer.stop.abort();
    await Promise.all([...this.#informers.values()].map((informer) => informer.running));
  }

  #informer<T extends KubeObject>(ref: ResourceRef, keep: ((object: T) => T) | undefined): Informer {
    const id = resourceId(ref);
    const there = this.#informers.get(id);
    if (there !== undefined) return there;
    const { client, clock, random } = this.#options;
    const cache = new Cache<T>();
    const resource = client.resource<T>(ref);
    const reflector = new Reflector<T>({ resource, cache, clock, random, ...(keep === undefined ? {} : { keep }) });
    const informer: Informer = {
      cache: cache as CacheView<KubeObject> & Cache<T>,
      health: () => reflector.health,
      run: (signal) => reflector.run(signal),
      stop: new AbortController(),
      trimmed: keep !== undefined,
    };
    this.#informers.set(id, informer);
    if (this.#started) begin(informer);
    return informer;
  }
}

function begin(informer: Informer): void {
  informer.running ??= informer.run(informer.stop.signal);
}

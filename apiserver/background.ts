import type { Kind } from '../resources/meta/define-kind.ts';
import { controllerIdentity, type Identity, OPERATOR } from './auth/identity.ts';
import type { Transport } from './client/transport.ts';
import { keepCompacting } from './compactor.ts';
import { followDefinitions } from './crds/follow-definitions.ts';
import { putOwnDefinitions } from './crds/own-definitions.ts';
import { keepForgetting } from './idempotency/forget-answers.ts';
import { keepBasics } from './keep-basics.ts';
import { makeBasics } from './make-basics.ts';
import { RoomWatch } from './room/room-watch.ts';
import { MissingKeyError } from './sealing/missing-key-error.ts';
import { missingKeysOf } from './sealing/missing-keys.ts';
import { Resealer } from './sealing/resealer.ts';
import type { Sealer } from './sealing/sealer.ts';
import type { ServerStreams } from './streams/server-streams.ts';
import type { ServerParts } from './verbs/verb-context.ts';

interface BackgroundDeps {
  readonly parts: ServerParts;
  readonly builtIn: readonly Kind[];
  readonly sealer: Sealer;
  readonly streams: ServerStreams;
  readonly serverName: string;
  /** A transport of this process, as an identity. */
  readonly transportFor: (identity: Identity) => Transport;
  /** Ends watches and streams. */
  readonly endStreams: () => Promise<void>;
  /** Called when the cache no longer follows the store. */
  readonly onLost: (error: unknown) => void;
}

/** What a server does besides answering: it begins and ends with the server. Disposing it waits until all of it has ended. */
export class Background implements AsyncDisposable {
  readonly resealer: Resealer;
  readonly #deps: BackgroundDeps;
  readonly #sealed: readonly Kind[];
  readonly #room: RoomWatch;
  readonly #ending = new AbortController();
  readonly #listening: (() => void)[] = [];
  readonly #running: Promise<void>[] = [];
  #lost: string | undefined;

  constructor(deps: BackgroundDeps) {
    const { parts, builtIn, sealer, serverName, transportFor } = deps;
    const { store, cache, clock, log } = parts;
    this.#deps = deps;
    this.#sealed = builtIn.filter((kind) => kind.sealed);
    const resealing = { kinds: this.#sealed, transport: transportFor(controllerIdentity('resealer')) };
    this.resealer = new Resealer({ ...resealing, store, cache, sealer, clock, log });
    const transport = transportFor(controllerIdentity('store-room'));
    this.#room = new RoomWatch({ store, transport, serverName, clock, log });
  }

  /** Aborts when the server ends. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Why requests cannot be answered: the cache no longer follows the store, or the store is out of reach; undefined while they can. */
  get unready(): string | undefined {
    return this.#lost ?? this.#deps.parts.store.outage?.();
  }

  /** What is to be said of a store that has not much room; undefined while it has. */
  get shortage(): string | undefined {
    return this.#room.warning;
  }

  /**
   * Fills the cache and follows the store, makes what every fleet has, and begins the rest. What it began has ended when it throws: `MissingKeyError` when
   * the store holds what cannot be opened here.
   */
  async start(): Promise<void> {
    try {
      await this.#follow();
      await this.#makeOwn();
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
    this.#beginRest();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#listening.splice(0).reverse()) stop();
    await this.#deps.endStreams();
    this.#ending.abort(new Error('the server is stopping'));
    await Promise.allSettled(this.#running);
  }

  async #follow(): Promise<void> {
    const { parts, sealer } = this.#deps;
    const { following } = await parts.cache.start(this.ending);
    this.#running.push(following.catch((error: unknown) => this.#lose(error)));
    const missing = missingKeysOf(parts.cache, sealer, this.#sealed);
    if (missing.length > 0) throw new MissingKeyError(missing);
  }

  #lose(error: unknown): void {
    if (this.ending.aborted) return;
    this.#lost = error instanceof Error ? error.message : String(error);
    this.#deps.onLost(error);
    this.#deps.parts.log.error('the cache lost the store', { error: this.#lost });
  }

  async #makeOwn(): Promise<void> {
    const { parts, builtIn, transportFor } = this.#deps;
    const { cache, registry, log } = parts;
    this.#listening.push(followDefinitions({ cache, registry, builtIn, log }));
    const ours = builtIn.filter((kind) => kind.origin === 'coppice');
    await putOwnDefinitions(parts, ours, this.ending);
    await makeBasics(transportFor(OPERATOR));
  }

  #beginRest(): void {
    const { parts, streams, transportFor } = this.#deps;
    const { store, cache, clock, log } = parts;
    const { ending } = this;
    this.#listening.push(streams.dropDeleted());
    this.#running.push(
      streams.keepPresence(transportFor(controllerIdentity('host-presence')), ending),
      keepCompacting({ store, clock, log }, ending),
      keepForgetting({ store, codec: cache.codec, clock, log }, ending),
      keepBasics({ cache, transport: transportFor(OPERATOR), clock, log }, ending),
      this.resealer.run(ending),
      this.#room.run(ending),
    );
  }
}

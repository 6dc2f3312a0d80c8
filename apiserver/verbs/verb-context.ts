import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import type { Term } from '../../resources/meta/term-header.ts';
import type { Ask } from '../auth/authorize.ts';
import type { Identity } from '../auth/identity.ts';
import type { ListSnapshots } from '../cache/snapshots.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Eventual } from '../eventual.ts';
import type { FenceRefresh } from '../registry/fence-refresh.ts';
import type { KeyQueue } from '../registry/key-queue.ts';
import type { Registry, ServedKind } from '../registry/registry.ts';
import type { Representation } from '../requests/media-type.ts';
import type { ResourceTarget } from '../requests/route.ts';
import type { ServerRequest, ServerResponse } from '../requests/server-request.ts';
import type { Store } from '../store/store.ts';
import type { UnreadBudget } from './unread-budget.ts';

/** What every verb of a server works with. */
export interface ServerParts {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly registry: Registry;
  readonly snapshots: ListSnapshots;
  readonly refresh: FenceRefresh;
  readonly races: KeyQueue;
  /** Of all watches together. */
  readonly unread: UnreadBudget;
  /** Aborts when the server stops or has lost its store: watches end. */
  readonly ending: AbortSignal;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly log: Logger;
  /** Of one request: its writes happen only while this lasts. */
  readonly term?: Term;
}

/** One request to a verb, already authorized. */
export interface VerbContext {
  readonly parts: ServerParts;
  readonly request: ServerRequest;
  readonly identity: Identity;
  readonly served: ServedKind;
  readonly target: ResourceTarget;
  readonly ask: Ask;
  readonly representation: Representation;
}

export type VerbHandler = (context: VerbContext) => Eventual<ServerResponse>;

/** The name in the URL; only called on routes that have one. */
export function nameOf({ target }: VerbContext): string {
  if (target.name === undefined) throw new Error('a verb on one object was routed without a name');
  return target.name;
}

/** The cache key of the object in the URL. */
export function keyOf(context: VerbContext): string {
  return objectKey({ name: nameOf(context), namespace: context.target.namespace });
}

/** Whether the object belongs to the namespace asked for (always, where none is). */
export function inNamespace(object: KubeObject, namespace: string | undefined): boolean {
  return namespace === undefined || object.metadata.namespace === namespace;
}

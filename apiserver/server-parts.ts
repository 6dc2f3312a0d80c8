import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { Logger } from '../resources/ambient/log.ts';
import type { Kind } from '../resources/meta/define-kind.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import { ObjectCodec } from './cache/object-codec.ts';
import type { RingLimits } from './cache/resource-cache.ts';
import { ListSnapshots } from './cache/snapshots.ts';
import { WatchCache } from './cache/watch-cache.ts';
import { definitionKind } from './crds/definition-rules.ts';
import { FenceRefresh } from './registry/fence-refresh.ts';
import { KeyQueue } from './registry/key-queue.ts';
import { Registry } from './registry/registry.ts';
import type { Sealer } from './sealing/sealer.ts';
import type { Store } from './store/store.ts';
import { UnreadBudget } from './verbs/unread-budget.ts';
import type { ServerParts } from './verbs/verb-context.ts';

interface PartsOptions {
  readonly store: Store;
  readonly builtIn: readonly Kind[];
  readonly sealer: Sealer;
  readonly ring?: RingLimits;
  readonly unreadBytes?: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: () => number;
  readonly log: Logger;
}

/** For all watches together. What is kept of an event is about three times its bytes: parsed, encoded, and as the lines that were told. */
const UNREAD_BYTES = 64 << 20;

/** What the verbs of a server work with that has these kinds built in. Its cache is empty; watches end when `ending` aborts. */
export function createParts(options: PartsOptions, ending: AbortSignal): ServerParts {
  const { store, builtIn, sealer, clock, ids, random, log } = options;
  const resources = new Set(builtIn.filter((kind) => kind.sealed).map(resourceId));
  const cache = new WatchCache(store, options.ring, new ObjectCodec({ sealer, resources }));
  const definitions = definitionKind(builtIn);
  const ofDefinitions = resourceId(definitions);
  return {
    store,
    cache,
    registry: new Registry(builtIn.map((kind) => (resourceId(kind) === ofDefinitions ? definitions : kind))),
    snapshots: new ListSnapshots(clock),
    refresh: new FenceRefresh(store, cache),
    races: new KeyQueue(),
    unread: new UnreadBudget(options.unreadBytes ?? UNREAD_BYTES),
    ending,
    clock,
    ids,
    random,
    log,
  };
}

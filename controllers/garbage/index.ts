import { Event } from '../../resources/kinds/event.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import { type Duty, type DutyParts, type Watch, watchCache } from '../runtime/duty.ts';
import { isEnding } from './decide.ts';
import { OwnedObjects, trim } from './owned-objects.ts';
import { DISCOVER, type GarbageDeps, NAMESPACE_PREFIX, reconcile, SWEEP_EVENTS } from './reconcile.ts';

/** Deletes what nothing needs any more: objects whose owners are gone, contents of ending namespaces, old Events. */
export function garbageDuty({ client, informers, clock, log }: DutyParts): Duty {
  const namespaces = informers.of(Namespace);
  const events = informers.trimmed(Event, trim);
  const owned = new OwnedObjects(informers);
  const deps: GarbageDeps = { client, namespaces, events, owned, clock, log };
  return {
    name: 'garbage',
    watches: [
      owned.watch,
      watchCache(namespaces, ({ key, after }) =>
        after !== undefined && isEnding(after) ? [`${NAMESPACE_PREFIX}${key}`] : [],
      ),
      // Only to wait for the list: Events are swept by the clock.
      watchCache(events, () => []),
      atStart(DISCOVER, SWEEP_EVENTS),
    ],
    workers: 4,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

/** Wakes once, for keys that then bring themselves back. */
function atStart(...keys: readonly string[]): Watch {
  return {
    start(enqueue) {
      for (const key of keys) enqueue(key);
      return () => {};
    },
    whenSynced: async () => {},
  };
}

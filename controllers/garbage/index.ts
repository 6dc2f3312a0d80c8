import { CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import { Event } from '../../resources/kinds/event.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import { type Duty, type DutyParts, type Watch, watchCache } from '../runtime/duty.ts';
import { isEnding } from './decide.ts';
import { isEndingDefinition } from './definition.ts';
import { OwnedObjects, trim } from './owned-objects.ts';
import {
  DEFINITION_PREFIX,
  DISCOVER,
  type GarbageDeps,
  NAMESPACE_PREFIX,
  reconcile,
  SWEEP_EVENTS,
} from './reconcile.ts';

/** Deletes what nothing needs any more: objects whose owners are gone, contents of ending namespaces, old Events. */
export function garbageDuty({ client, informers, events: recorder, clock, log }: DutyParts): Duty {
  const namespaces = informers.of(Namespace);
  const definitions = informers.of(CustomResourceDefinition);
  const events = informers.trimmed(Event, trim);
  const owned = new OwnedObjects(informers);
  const deps: GarbageDeps = { client, namespaces, events, owned, recorder, clock, log };
  return {
    name: 'garbage',
    watches: [
      owned.watch,
      watchCache(namespaces, ({ key, after }) =>
        after !== undefined && isEnding(after) ? [`${NAMESPACE_PREFIX}${key}`] : [],
      ),
      // A kind that comes or goes changes what there is to follow.
      watchCache(definitions, ({ key, after }) =>
        after !== undefined && isEndingDefinition(after) ? [DISCOVER, `${DEFINITION_PREFIX}${key}`] : [DISCOVER],
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

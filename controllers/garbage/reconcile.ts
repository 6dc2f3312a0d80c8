import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { Event } from '../../resources/kinds/event.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import type { KubeObject, OwnerReference } from '../../resources/meta/object.ts';
import type { CacheView } from '../runtime/cache.ts';
import { servedResources } from '../runtime/discovery.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { InFlight } from '../runtime/in-flight.ts';
import { emptyNamespace } from '../runtime/namespace-contents.ts';
import { orGone } from '../runtime/write.ts';
import { cascade, cascadeOf } from './cascade.ts';
import { eventLeftMs, type OwnerState, ownedVerdict } from './decide.ts';
import { endDefinition } from './definition.ts';
import { deleteOwned, REFUSED_AGAIN_MS } from './delete-owned.ts';
import { endNamespace } from './namespace.ts';
import type { OwnedObjects } from './owned-objects.ts';

/** Keys: what is served, old Events, `namespace NAME`, `definition NAME`; any other is an object with owners. */
export const DISCOVER = 'discover';
export const SWEEP_EVENTS = 'events';
export const NAMESPACE_PREFIX = 'namespace ';
export const DEFINITION_PREFIX = 'definition ';

const DISCOVER_EVERY_MS = 30_000;
const SWEEP_EVERY_MS = 300_000;
const DELETES_AT_ONCE = 8;
/** What was just made is not collected yet: whoever made it may still be putting its owners right. */
const YOUNG_MS = 3_000;
const MORE_EVENTS_MS = 1_000;

export interface GarbageDeps {
  readonly client: ApiClient;
  readonly namespaces: CacheView<Namespace>;
  readonly events: CacheView<KubeObject>;
  readonly owned: OwnedObjects;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function reconcile(key: string, deps: GarbageDeps, signal: AbortSignal): Promise<Outcome> {
  if (key === DISCOVER) {
    await deps.owned.follow(await servedResources(deps.client, signal));
    await collectStrays(deps, signal);
    return { requeueAfterMs: DISCOVER_EVERY_MS };
  }
  if (key === SWEEP_EVENTS) return sweepEvents(deps, signal);
  if (key.startsWith(NAMESPACE_PREFIX)) return endNamespace(key.slice(NAMESPACE_PREFIX.length), deps, signal);
  if (key.startsWith(DEFINITION_PREFIX)) {
    const name = key.slice(DEFINITION_PREFIX.length);
    const outcome = await endDefinition(name, deps.client, signal);
    if (outcome.ended) deps.log.info('a kind and its objects removed', { definition: name });
    return outcome;
  }
  return collect(key, deps, signal);
}

/** Deletes an object all of whose owners are gone, and lets go one that waits for its dependents. */
async function collect(key: string, deps: GarbageDeps, signal: AbortSignal): Promise<Outcome> {
  const found = deps.owned.find(key);
  if (found === undefined) return {};
  const wish = cascadeOf(found.object);
  if (wish !== undefined) return cascade(wish, found, deps, signal);
  if (found.object.metadata.deletionTimestamp !== undefined) return {};
  const { object } = found;
  const states: OwnerState[] = [];
  for (const reference of object.metadata.ownerReferences ?? []) {
    const state = await ownerState(reference, object.metadata.namespace, deps, signal);
    // One that stays is enough.
    if (state === 'present') return {};
    states.push(state);
  }
  if (ownedVerdict(states) === 'keep') return states.includes('unknown') ? { requeueAfterMs: DISCOVER_EVERY_MS } : {};
  const ageMs = deps.clock.now() - Date.parse(object.metadata.creationTimestamp);
  if (ageMs < YOUNG_MS) return { requeueAfterMs: YOUNG_MS - Math.max(0, ageMs) };
  const owners = (object.metadata.ownerReferences ?? []).map(({ uid }) => uid);
  if (!(await deleteOwned(found, owners, deps, signal))) return { requeueAfterMs: REFUSED_AGAIN_MS };
  deps.log.info('object deleted after its owners', { object: key });
  return {};
}

/** A cache may be behind, so only the server can say that an owner is gone. */
async function ownerState(
  reference: OwnerReference,
  namespace: string | undefined,
  { client, owned }: GarbageDeps,
  signal: AbortSignal,
): Promise<OwnerState> {
  const owner = owned.owner(reference, namespace);
  if (owner === undefined) return 'unknown';
  if (owner.cached?.metadata.uid === reference.uid) return 'present';
  const resource = client.resource<KubeObject>(owner.ref, owner.ref.namespaced ? namespace : undefined);
  const there = await orGone(resource.get(reference.name, signal));
  return there?.metadata.uid === reference.uid ? 'present' : 'absent';
}

/**
 * Empties namespaces that are not there any more: one that goes with its Tenant goes in the Tenant's own transaction, so something may have
 * been made in it after it was last found empty.
 */
async function collectStrays({ client, namespaces, owned, log }: GarbageDeps, signal: AbortSignal): Promise<void> {
  for (const name of owned.namespaces()) {
    if (namespaces.get(name) !== undefined) continue;
    // A cache may be behind, so only the server can say that a namespace is gone.
    if ((await orGone(client.resource<Namespace>(Namespace).get(name, signal))) !== undefined) continue;
    await emptyNamespace(client, name, signal);
    log.info('emptied a namespace that is gone', { namespace: name });
  }
}

/** Deletes Events that are over. */
async function sweepEvents(deps: GarbageDeps, signal: AbortSignal): Promise<Outcome> {
  const nowMs = deps.clock.now();
  const deletes = new InFlight(DELETES_AT_ONCE);
  let nextMs = SWEEP_EVERY_MS;
  for (const object of [...deps.events.list()]) {
    const event = object as Event;
    const leftMs = eventLeftMs(event, nowMs);
    if (leftMs > 0) {
      nextMs = Math.min(nextMs, leftMs);
      continue;
    }
    const resource = deps.client.resource<Event>(Event, event.metadata.namespace);
    const { name, uid, resourceVersion } = event.metadata;
    // Under its version: it may have happened again just now.
    await deletes.start(async () => {
      await orGone(resource.delete(name, { preconditions: { uid, resourceVersion } }, signal));
    });
  }
  await deletes.finish();
  return { requeueAfterMs: Math.max(nextMs, MORE_EVENTS_MS) };
}

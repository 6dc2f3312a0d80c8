import type { ApiClient, ResourceClient } from '../../apiserver/client/client.ts';
import { qualified } from '../../resources/meta/api-error.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { servedResources } from './discovery.ts';
import { InFlight } from './in-flight.ts';
import { deleteThis } from './write.ts';

const DELETES_AT_ONCE = 8;
const PAGE_SIZE = 500;

/** How many objects of a resource are still there, and the names of a few. */
export interface Remaining {
  /** `vms.coppice.dev`, or `configmaps`. */
  readonly resource: string;
  readonly count: number;
  readonly names: readonly string[];
  /** How many of them each finalizer holds. */
  readonly finalizers: ReadonlyMap<string, number>;
}

/**
 * Deletes everything in a namespace, of whatever kind the server has, and answers what is still there (held by finalizers). Looks at the
 * server and not at caches, since a cache may be behind. Nothing answered means: at that moment the namespace was empty.
 */
export async function emptyNamespace(
  client: ApiClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly Remaining[]> {
  const remaining: Remaining[] = [];
  for (const served of await servedResources(client, signal)) {
    if (!served.namespaced || !served.verbs.includes('list') || !served.verbs.includes('delete')) continue;
    const resource = client.resource<KubeObject>(served, namespace);
    const found = await listAll(resource, signal);
    if (found.length === 0) continue;
    await deleteAll(resource, found, signal);
    const left = await listAll(resource, signal);
    if (left.length === 0) continue;
    const names = left.slice(0, 3).map((object) => object.metadata.name);
    remaining.push({ resource: qualified(served), count: left.length, names, finalizers: finalizersOf(left) });
  }
  return remaining;
}

function finalizersOf(objects: readonly KubeObject[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { metadata } of objects) {
    for (const finalizer of metadata.finalizers ?? []) counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
  }
  return counts;
}

/** One line for people: `2 configmaps (a, b), 5 vms.coppice.dev (x, y, z, …)`. */
export function describeRemaining(remaining: readonly Remaining[]): string {
  return remaining
    .map(
      ({ resource, count, names }) => `${count} ${resource} (${names.join(', ')}${count > names.length ? ', …' : ''})`,
    )
    .join(', ');
}

/** Deletes every object of a resource, in whatever namespace. Answers how many are still there, held by finalizers. */
export async function emptyResource(client: ApiClient, ref: ResourceRef, signal: AbortSignal): Promise<number> {
  const all = client.resource<KubeObject>(ref);
  const byNamespace = Map.groupBy(await listAll(all, signal), (object) => object.metadata.namespace);
  if (byNamespace.size === 0) return 0;
  for (const [namespace, objects] of byNamespace) {
    await deleteAll(client.resource<KubeObject>(ref, namespace), objects, signal);
  }
  return (await listAll(all, signal)).length;
}

/** Deletes those that are not being deleted yet. */
export async function deleteAll<T extends KubeObject>(
  resource: ResourceClient<T>,
  objects: readonly T[],
  signal: AbortSignal,
): Promise<void> {
  const deletes = new InFlight(DELETES_AT_ONCE);
  for (const object of objects) {
    if (object.metadata.deletionTimestamp === undefined) {
      await deletes.start(() => deleteThis(resource, object, signal));
    }
  }
  await deletes.finish();
}

async function listAll(resource: ResourceClient<KubeObject>, signal: AbortSignal): Promise<KubeObject[]> {
  const objects: KubeObject[] = [];
  let more: string | undefined;
  do {
    const page = await resource.list({ limit: PAGE_SIZE, ...(more === undefined ? {} : { continue: more }) }, signal);
    objects.push(...page.items);
    more = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (more !== undefined);
  return objects;
}

import type { ApiClient } from '../../apiserver/client/client.ts';
import * as refs from '../../resources/guards/refs.ts';
import { World } from '../../resources/guards/world.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import { listAll } from '../list-all.ts';

/** Objects that say what holds for others: a plan is judged by them as it leaves them. */
const DECREES = [refs.POLICIES, refs.PRICE_LISTS, refs.TENANTS, refs.IMAGES];
const HOLDINGS = [refs.LEASES, refs.LEASE_SETS, refs.POOLS, refs.VMS, refs.VOLUMES];

/** What a plan is reckoned by, read over the API: what whoever asks may see of it. `planned` lies over what is there; undefined removes. */
export async function readFacts(
  client: ApiClient,
  planned: readonly { readonly key: string; readonly plural: string; readonly after: KubeObject | undefined }[],
  signal: AbortSignal,
): Promise<{ readonly world: World; readonly hosts: readonly Host[] | undefined; readonly isPartial: boolean }> {
  const world = new World();
  const list = async (ref: refs.Ref<KubeObject>): Promise<readonly KubeObject[] | undefined> => {
    const kind = { group: ref.group, version: 'v1', plural: ref.plural, kind: '', namespaced: false };
    try {
      return (await listAll(client.resource(kind), {}, signal)).items;
    } catch (error) {
      if (error instanceof ApiError && (error.reason === 'Forbidden' || error.reason === 'NotFound')) return undefined;
      throw error;
    }
  };
  const all = [refs.HOSTS, ...DECREES, ...HOLDINGS];
  const lists = await Promise.all(all.map(list));
  all.forEach((ref, i) => {
    for (const object of lists[i] ?? []) world.set(ref, objectKey(object.metadata), object, 1);
  });
  for (const ref of DECREES)
    for (const { key, plural, after } of planned) if (plural === ref.plural) world.set(ref, key, after, 1);
  return { world, hosts: lists[0] as readonly Host[] | undefined, isPartial: lists.includes(undefined) };
}

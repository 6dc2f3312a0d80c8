import { parseStoreKey } from '../../apiserver/cache/keys.ts';
import type { Store } from '../../apiserver/store/store.ts';
import { World } from '../../resources/guards/world.ts';
import type { KubeObject } from '../../resources/meta/object.ts';

type Use = ReturnType<World['tenantUse']>;

/** The most that a namespace held of each thing at once, by the store's own history. */
export async function peakUse(store: Store, namespace: string): Promise<Use> {
  const stop = new AbortController();
  const world = new World();
  // What another server has acknowledged may not have come down here yet.
  const latest = (await store.latest?.()) ?? store.revision();
  let peak = world.tenantUse(namespace);
  for await (const { revision, events } of store.watch(0, stop.signal)) {
    for (const event of events) {
      const at = parseStoreKey(event.key);
      if (at === undefined || !at.resourceId.startsWith('coppice.dev/')) continue;
      const object =
        event.type === 'put' ? (JSON.parse(Buffer.from(event.value).toString('utf8')) as KubeObject) : undefined;
      const [group = '', plural = ''] = at.resourceId.split('/');
      world.set({ group, plural }, at.objectKey, object, revision);
    }
    peak = mostOf(peak, world.tenantUse(namespace));
    if (revision >= latest) break;
  }
  return peak;
}

function mostOf(a: Use, b: Use): Use {
  return {
    vms: Math.max(a.vms, b.vms),
    vcpus: Math.max(a.vcpus, b.vcpus),
    memoryBytes: Math.max(a.memoryBytes, b.memoryBytes),
    leasedHosts: Math.max(a.leasedHosts, b.leasedHosts),
    openLeases: Math.max(a.openLeases, b.openLeases),
  };
}

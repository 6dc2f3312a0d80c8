import type { ApiClient } from '../apiserver/client/client.ts';
import * as refs from '../resources/guards/refs.ts';
import { World } from '../resources/guards/world.ts';
import type { Host } from '../resources/kinds/host.ts';
import { ApiError } from '../resources/meta/api-error.ts';
import type { ResourceRef } from '../resources/meta/define-kind.ts';
import { type KubeObject, objectKey } from '../resources/meta/object.ts';
import { listAll } from './list-all.ts';
import { HOSTS, IMAGES, POLICIES, POOLS, TENANTS, VMS } from './vm-ref.ts';
import { VOLUMES } from './volume-ref.ts';

export interface FleetRead {
  readonly world: World;
  readonly hosts: readonly Host[];
}

/** All that placement judges by, read over the API; undefined when who asks may not see the whole fleet. */
export async function readFleet(client: ApiClient, signal: AbortSignal): Promise<FleetRead | undefined> {
  const list = async <T extends KubeObject>(kind: ResourceRef): Promise<readonly T[]> =>
    (await listAll(client.resource<T>(kind), {}, signal)).items;
  try {
    // What may be hidden comes first; an owner is not made to wait for the rest.
    const hosts = await list<Host>(HOSTS);
    const [policies, tenants, images, pools, vms, volumes] = await Promise.all([
      list(POLICIES),
      list(TENANTS),
      list(IMAGES),
      list(POOLS),
      list(VMS),
      list(VOLUMES),
    ]);
    const world = new World();
    const take = <T extends KubeObject>(kind: refs.Ref<T>, objects: readonly KubeObject[]) => {
      for (const object of objects) world.set(kind, objectKey(object.metadata), object, 1);
    };
    take(refs.POLICIES, policies);
    take(refs.HOSTS, hosts);
    take(refs.TENANTS, tenants);
    take(refs.IMAGES, images);
    take(refs.POOLS, pools);
    take(refs.VMS, vms);
    take(refs.VOLUMES, volumes);
    return { world, hosts };
  } catch (error) {
    if (error instanceof ApiError && (error.reason === 'Forbidden' || error.reason === 'NotFound')) return undefined;
    throw error;
  }
}

import { HOSTS, IMAGES, POLICIES, POOLS, TENANTS, VMS } from '../../resources/guards/refs.ts';
import { World } from '../../resources/guards/world.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { Policy } from '../../resources/kinds/policy.ts';
import type { Pool } from '../../resources/kinds/pool.ts';
import type { Tenant } from '../../resources/kinds/tenant.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { type OwnerReference, objectKey } from '../../resources/meta/object.ts';
import { anImage, aTenant, aVM, EPOCH_START } from './builders.ts';

/** Pool `warm` of tenant red: 3 of image tiny. */
export function aPool(
  wish: { name?: string; namespace?: string; spec?: Partial<Pool['spec']>; status?: Pool['status'] } = {},
): Pool {
  const { name = 'warm', namespace = 'red' } = wish;
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Pool',
    metadata: {
      name,
      namespace,
      uid: `uid-of-${namespace}-${name}`,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: EPOCH_START,
    },
    spec: { image: 'tiny', class: 'flex', replicas: 3, ...wish.spec },
    ...(wish.status === undefined ? {} : { status: wish.status }),
  };
}

export function owner(namespace = 'red', name = 'warm'): OwnerReference {
  return { apiVersion: 'coppice.dev/v1', kind: 'Pool', name, uid: `uid-of-${namespace}-${name}`, controller: true };
}

/** An idle member of pool `warm`, on `mac-1` by its third binding, of the shape of `aVM`. */
export function aMember(wish: {
  name: string;
  namespace?: string;
  host?: string;
  spec?: Partial<VM['spec']>;
  status?: VM['status'];
}): VM {
  const { name, namespace = 'red', host = 'mac-1' } = wish;
  const guestID = `guest-of-${name}`;
  const vm = aVM({ name, namespace, spec: { claimable: true, hostName: host, epoch: 3, guestID, ...wish.spec } });
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'Running',
    message: '',
    lastTransitionTime: EPOCH_START,
  } as const;
  const guest = { id: guestID, power: 'Running', epoch: 3 } as const;
  return {
    ...vm,
    metadata: { ...vm.metadata, ownerReferences: [owner(namespace)], finalizers: ['coppice.dev/guest'] },
    status: { phase: 'Running', host, guest, conditions: [ready], ...wish.status },
  };
}

/** Tenant red, image tiny, and pool `warm` unless others are given. */
export function aPoolWorld({
  vms = [],
  pools = [aPool()],
  hosts = [],
  tenants = [aTenant()],
  policy,
}: {
  readonly vms?: readonly VM[];
  readonly pools?: readonly Pool[];
  readonly hosts?: readonly Host[];
  readonly tenants?: readonly Tenant[];
  readonly policy?: Policy;
}): World {
  const world = new World();
  world.set(IMAGES, 'tiny', anImage(), 1);
  for (const tenant of tenants) world.set(TENANTS, tenant.metadata.name, tenant, 1);
  for (const host of hosts) world.set(HOSTS, host.metadata.name, host, 1);
  for (const pool of pools) world.set(POOLS, objectKey(pool.metadata), pool, 1);
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  if (policy !== undefined) world.set(POLICIES, 'default', policy, 1);
  return world;
}

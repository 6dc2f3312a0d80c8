import { Pool } from '../../resources/kinds/pool.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import type { FleetWorld } from './fleet-world.ts';
import type { RawAnswer } from './raw.ts';

export const spec = { image: 'linux', size: { vcpus: 1, memory: '1Gi' } };

/** Somebody keeps three of `spec`, and what else is said: pool `warm` of acme unless another is. */
export async function keeps(world: FleetWorld, wish: Partial<Pool['spec']> = {}, key = 'acme/warm'): Promise<void> {
  const [namespace = '', name = ''] = key.split('/');
  await world.create(Pool, { metadata: { name, namespace }, spec: { ...spec, replicas: 3, ...wish } });
}

export function pool(world: FleetWorld, key = 'acme/warm'): Pool | undefined {
  const [namespace, name = ''] = key.split('/');
  return world.fleet.find<Pool>(Pool, name, namespace);
}

/** A pool in one line: how many of how many are up, what else there is of it, and why Ready is as it is. */
export function tells(world: FleetWorld, key = 'acme/warm'): string {
  const found = pool(world, key);
  if (found === undefined) return 'gone';
  const { ready, wanted, warming, replicas, claimed } = found.status ?? {};
  const rest = [
    warming === 0 ? '' : `${warming} warming`,
    replicas === wanted ? '' : `${replicas} there`,
    claimed === 0 ? '' : `${claimed} claimed`,
  ].filter((s) => s !== '');
  return [`${ready} of ${wanted}`, ...rest, findCondition(found, 'Ready')?.reason].join(', ');
}

/** Those of a pool, up or not. */
export function members(world: FleetWorld, key = 'acme/warm'): readonly VM[] {
  const uid = pool(world, key)?.metadata.uid;
  return world.fleet
    .all<VM>(VM)
    .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true);
}

/** A VM of `spec`, and what else is said. */
export function asks(
  world: FleetWorld,
  name: string,
  wish: Partial<VM['spec']> = {},
  namespace = 'acme',
): Promise<RawAnswer> {
  const vm = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name }, spec: { ...spec, ...wish } };
  return world.request('POST', `namespaces/${namespace}/vms`, vm);
}

/** How a VM came up; undefined while it is not ready. */
export function cameUp(world: FleetWorld, key: string): 'cold' | 'pool' | undefined {
  const vm = world.vm(key);
  return vm !== undefined && findCondition(vm, 'Ready')?.status === 'True' ? vm.status?.startedFrom : undefined;
}

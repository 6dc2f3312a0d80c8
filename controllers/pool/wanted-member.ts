import { POOL_LABEL } from '../../resources/guards/pool-members.ts';
import { standingRefusal } from '../../resources/guards/tenant-standing.ts';
import { resolveVM } from '../../resources/guards/vm-admission.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { Pool } from '../../resources/kinds/pool.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { ObjectMeta } from '../../resources/meta/object.ts';
import type { Obstacle } from './decide.ts';

type NewMember = Pick<VM, 'apiVersion' | 'kind' | 'spec'> & {
  readonly metadata: Omit<ObjectMeta, keyof typeof UNBORN>;
};

/** What only the server gives. */
const UNBORN = { uid: '', resourceVersion: '', creationTimestamp: '' };

/** A member that is to be made. */
export function newMember({ apiVersion, kind, metadata, spec }: Pool, name: string): NewMember {
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid };
  return {
    apiVersion,
    kind: VM.kind,
    metadata: {
      name,
      labels: { [POOL_LABEL]: metadata.name },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    },
    spec: {
      image: spec.image,
      class: spec.class,
      power: 'Running',
      claimable: true,
      ...(spec.size === undefined ? {} : { size: spec.size }),
      ...(spec.hostSelector === undefined ? {} : { hostSelector: spec.hostSelector }),
    },
  };
}

/** A member as it would be now, resolved where that can be; and what stands against making one. */
export function wantedMember(pool: Pool, world: WorldView): { readonly member: VM; readonly obstacle?: Obstacle } {
  const made = newMember(pool, pool.metadata.name);
  const member: VM = { ...made, metadata: { ...made.metadata, ...UNBORN } };
  const namespace = pool.metadata.namespace ?? '';
  const resolved = resolveVM(member, world);
  // They are its dependents, but while somebody holds it they would not go.
  if (pool.metadata.deletionTimestamp !== undefined)
    return { member, obstacle: { reason: 'Deleting', message: 'the pool is being deleted', empties: true } };
  const standing = standingRefusal(namespace, world);
  if (standing !== undefined)
    return { member, obstacle: { reason: standing.cause ?? 'Forbidden', message: standing.message, empties: true } };
  if ('digest' in resolved) return { member: { ...member, spec: { ...member.spec, resolved } } };
  // What its members would wait for, said of the pool.
  const message = resolved.message.replace('the VM waits', 'the pool waits');
  return { member, obstacle: { reason: resolved.reason, message, empties: false } };
}

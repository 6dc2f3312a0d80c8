import type { Lease } from '../kinds/lease.ts';
import type { VM } from '../kinds/vm.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { isGranted } from './lease-quota.ts';
import { TENANTS } from './refs.ts';
import type { WorldView } from './world.ts';

/** Why nothing new begins in a namespace: its tenant is disabled, or is being deleted. Undefined where there is no tenant: others say what waits for one. */
export function standingRefusal(
  namespace: string,
  world: WorldView,
): Extract<Refusal, { answer: 'Forbidden' }> | undefined {
  const tenant = world.get(TENANTS, undefined, namespace);
  if (tenant?.metadata.deletionTimestamp !== undefined) return { answer: 'Forbidden', ...DELETING(namespace) };
  return tenant?.spec.disabled === true ? { answer: 'Forbidden', ...DISABLED(namespace) } : undefined;
}

const DELETING = (tenant: string) => ({
  cause: 'NamespaceTerminating',
  message: `unable to create new content in namespace ${tenant} because its tenant is being deleted`,
});

const DISABLED = (tenant: string) => ({
  cause: 'TenantDisabled',
  message: `tenant ${tenant} is disabled: nothing new begins in it`,
});

/** A VM begins in the namespace of a tenant that stays, and gets a host while that tenant is enabled. */
export const vmTenant = {
  name: 'vm-tenant',
  fences: (change) => (isBound(change) ? { bump: [], compare: [standing(change)] } : NO_FENCES),
  judge(change, world) {
    const { before, after } = change;
    if (after === undefined) return undefined;
    const refusal = standingRefusal(after.metadata.namespace ?? '', world);
    if (before === undefined && refusal?.cause === 'NamespaceTerminating') return refusal;
    return isBound(change) ? refusal : undefined;
  },
} satisfies Guard<VM>;

/** A Lease is given a host while its tenant is enabled and stays. */
export const leaseTenant = {
  name: 'lease-tenant',
  fences: (change) => (isGranted(change) ? { bump: [], compare: [standing(change)] } : NO_FENCES),
  judge: (change, world) =>
    isGranted(change) ? standingRefusal(change.after?.metadata.namespace ?? '', world) : undefined,
} satisfies Guard<Lease>;

/** Whether the change gives a VM a host. One that is deleted needs none. */
function isBound({ before, after }: Change<VM>): boolean {
  const host = after?.spec.hostName;
  return host !== undefined && host !== before?.spec.hostName && after?.metadata.deletionTimestamp === undefined;
}

const standing = ({ before, after }: Change) => fence.standing((after ?? before)?.metadata.namespace ?? '');

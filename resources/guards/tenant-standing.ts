import type { VM } from '../kinds/vm.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
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

/** What holds something of the fleet may only begin in a namespace whose tenant stays. */
export const livingTenant: Guard = {
  name: 'living-tenant',
  fences: () => NO_FENCES,
  judge({ before, after }, world) {
    if (before !== undefined || after === undefined) return undefined;
    const refusal = standingRefusal(after.metadata.namespace ?? '', world);
    return refusal?.cause === 'NamespaceTerminating' ? refusal : undefined;
  },
};

/** A VM gets a host while its tenant is enabled and stays. */
export const enabledTenant: Guard<VM> = {
  name: 'enabled-tenant',
  fences: (change) => (isBound(change) ? { bump: [], compare: [fence.standing(namespaceOf(change))] } : NO_FENCES),
  judge: (change, world) => (isBound(change) ? standingRefusal(namespaceOf(change), world) : undefined),
};

/** Whether the change gives a VM a host. One that is deleted needs none. */
function isBound({ before, after }: Change<VM>): boolean {
  const host = after?.spec.hostName;
  return host !== undefined && host !== before?.spec.hostName && after?.metadata.deletionTimestamp === undefined;
}

const namespaceOf = ({ before, after }: Change): string => (after ?? before)?.metadata.namespace ?? '';

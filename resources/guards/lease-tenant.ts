import type { Lease } from '../kinds/lease.ts';
import { POLICIES, TENANTS } from './refs.ts';
import type { WorldView } from './world.ts';

interface Reason {
  readonly reason: string;
  readonly message: string;
}

/** Why a lease waits, whatever hosts there are: its tenant, or terms that are not accepted. */
export function tenantRefusal(lease: Lease, world: WorldView): Reason | undefined {
  const { namespace = '' } = lease.metadata;
  const tenant = world.get(TENANTS, undefined, namespace);
  if (tenant === undefined)
    return { reason: 'TenantNotFound', message: `no Tenant is named ${namespace}; the lease waits for it` };
  if (tenant.metadata.deletionTimestamp !== undefined)
    return { reason: 'TenantDeleting', message: `tenant ${namespace} is being deleted` };
  if (tenant.spec.disabled === true)
    return { reason: 'TenantDisabled', message: `tenant ${namespace} is disabled: nothing new begins` };
  const required = world.get(POLICIES, undefined, 'default')?.spec.requiredTerms;
  const accepted = lease.spec.acceptedTerms?.version;
  if (required === undefined || accepted === required) return undefined;
  const has = accepted === undefined ? 'accepts none' : `accepts ${accepted}`;
  return {
    reason: 'TermsNotAccepted',
    message: `terms ${required} must be accepted in spec.acceptedTerms.version; it ${has}`,
  };
}

import { TENANTS } from '../../resources/guards/refs.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { type Identity, tenantOf } from './identity.ts';

const CAUSE = 'TenantDisabled';

/** Turns away whoever belongs to a tenant that is disabled, whatever they ask for. Throws `Forbidden` with cause `TenantDisabled`. */
export function requireEnabled(identity: Identity, world: WorldView): void {
  const tenant = tenantOf(identity);
  if (tenant === undefined || world.get(TENANTS, undefined, tenant)?.spec.disabled !== true) return;
  const message = `tenant ${tenant} is disabled: its tokens are refused`;
  throw new ApiError('Forbidden', message, {
    details: { name: tenant, group: TENANTS.group, kind: TENANTS.plural, causes: [{ reason: CAUSE, message }] },
  });
}

/** Whether an error is that of `requireEnabled`. */
export function isTenantDisabled(error: unknown): error is ApiError {
  return error instanceof ApiError && error.details?.causes?.[0]?.reason === CAUSE;
}

import { oneName } from './one-name.ts';

/** The one Tenant a command is about: `NAME`, or `tenant/NAME` as kubectl users write it. */
export const tenantName = oneName('tenant', /^(tn|tenants?)(\.coppice\.dev)?\//);

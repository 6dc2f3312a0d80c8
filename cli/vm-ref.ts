import { oneName } from './one-name.ts';

/** How VMs are addressed; written out here because the kind itself brings the schema library with it. */
export const VMS = { group: 'coppice.dev', version: 'v1', plural: 'vms', kind: 'VM', namespaced: true } as const;
export const HOSTS = { group: 'coppice.dev', version: 'v1', plural: 'hosts', kind: 'Host', namespaced: false } as const;
export const POLICIES = {
  group: 'coppice.dev',
  version: 'v1',
  plural: 'policies',
  kind: 'Policy',
  namespaced: false,
} as const;
export const TENANTS = {
  group: 'coppice.dev',
  version: 'v1',
  plural: 'tenants',
  kind: 'Tenant',
  namespaced: false,
} as const;
export const POOLS = { group: 'coppice.dev', version: 'v1', plural: 'pools', kind: 'Pool', namespaced: true } as const;
export const IMAGES = {
  group: 'coppice.dev',
  version: 'v1',
  plural: 'images',
  kind: 'Image',
  namespaced: false,
} as const;

/** The one VM a command is about: `NAME`, or `vm/NAME` as kubectl users write it. */
export const vmName = oneName('VM', /^(vm|vms|vms?\.coppice\.dev)\//);

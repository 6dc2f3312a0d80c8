import type { ConfigMap } from '../kinds/config-map.ts';
import type { CustomResourceDefinition } from '../kinds/custom-resource-definition.ts';
import type { Host } from '../kinds/host.ts';
import type { Image } from '../kinds/image.ts';
import type { Lease } from '../kinds/lease.ts';
import type { LeaseSet } from '../kinds/lease-set.ts';
import type { Namespace } from '../kinds/namespace.ts';
import type { Policy } from '../kinds/policy.ts';
import type { Pool } from '../kinds/pool.ts';
import type { PriceList } from '../kinds/price-list.ts';
import type { Tenant } from '../kinds/tenant.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import type { KubeObject } from '../meta/object.ts';

/** A resource by name, with the type of its objects: lets guards speak of kinds without importing them. */
export interface Ref<T extends KubeObject> {
  readonly group: string;
  readonly plural: string;
  /** Never set; carries the type. */
  readonly object?: T;
}

export const HOSTS: Ref<Host> = { group: 'coppice.dev', plural: 'hosts' };
export const IMAGES: Ref<Image> = { group: 'coppice.dev', plural: 'images' };
export const POLICIES: Ref<Policy> = { group: 'coppice.dev', plural: 'policies' };
export const LEASES: Ref<Lease> = { group: 'coppice.dev', plural: 'leases' };
export const PRICE_LISTS: Ref<PriceList> = { group: 'coppice.dev', plural: 'pricelists' };
export const TENANTS: Ref<Tenant> = { group: 'coppice.dev', plural: 'tenants' };
export const LEASE_SETS: Ref<LeaseSet> = { group: 'coppice.dev', plural: 'leasesets' };
export const POOLS: Ref<Pool> = { group: 'coppice.dev', plural: 'pools' };
export const VOLUMES: Ref<Volume> = { group: 'coppice.dev', plural: 'volumes' };
export const VMS: Ref<VM> = { group: 'coppice.dev', plural: 'vms' };
export const NAMESPACES: Ref<Namespace> = { group: '', plural: 'namespaces' };
export const CONFIG_MAPS: Ref<ConfigMap> = { group: '', plural: 'configmaps' };
export const SERVICE_ACCOUNTS: Ref<KubeObject> = { group: '', plural: 'serviceaccounts' };
export const SECRETS: Ref<KubeObject> = { group: '', plural: 'secrets' };
export const DEFINITIONS: Ref<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  plural: 'customresourcedefinitions',
};

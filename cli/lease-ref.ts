import type { KubeObject } from '../resources/meta/object.ts';
import { oneName } from './one-name.ts';

/** How Leases are addressed; written out here because the kind itself brings the schema library with it. */
export const LEASES = {
  group: 'coppice.dev',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
} as const;

export const LEASE_SETS = { ...LEASES, plural: 'leasesets', kind: 'LeaseSet' } as const;

/** What commands look at in a Lease. */
export interface LeaseView extends KubeObject {
  spec?: { release?: { force?: boolean } };
  status?: {
    phase?: string;
    host?: string;
    grantedAt?: string;
    earliestEnd?: string;
    endsAt?: string;
    billedUntil?: string;
    pricePerHour?: string;
    currency?: string;
  };
}

/** The one Lease a command is about: `NAME`, or `lease/NAME` as kubectl users write it. */
export const leaseName = oneName('lease', /^(ls|leases?)(\.coppice\.dev)?\//);

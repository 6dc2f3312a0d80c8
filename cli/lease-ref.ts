import type { KubeObject } from '../resources/meta/object.ts';
import { Failure, usage } from './failure.ts';

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
export function leaseName(words: readonly string[], verb: string): string {
  const [word, extra] = words;
  if (word === undefined) throw usage('name the lease', verb);
  if (extra !== undefined) throw usage(`one lease at a time, but got "${word}" and "${extra}"`, verb);
  const name = word.replace(/^(ls|leases?)(\.coppice\.dev)?\//, '');
  if (name === '' || name.includes('/')) throw new Failure(`"${word}" is not the name of a lease`);
  return name;
}

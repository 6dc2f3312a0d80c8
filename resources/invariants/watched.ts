import type { ResourceRef } from '../meta/define-kind.ts';

const ours = (kind: string, plural: string, namespaced: boolean): ResourceRef => ({
  group: 'coppice.dev',
  version: 'v1',
  plural,
  kind,
  namespaced,
});

/** The resources that invariants are judged by, all of which a `FleetState` keeps. */
export const WATCHED: readonly ResourceRef[] = [
  ours('Tenant', 'tenants', false),
  ours('Policy', 'policies', false),
  ours('Host', 'hosts', false),
  ours('Lease', 'leases', true),
  ours('LeaseSet', 'leasesets', true),
  ours('VM', 'vms', true),
  ours('Volume', 'volumes', true),
];

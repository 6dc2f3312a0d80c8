import type { Host } from '../../../resources/kinds/host.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../../resources/kinds/lease-set.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aHost, aVM } from '../../harness/builders.ts';

export const GRANTED = '2026-01-01T00:00:00Z';
export const A_DAY_LATER = '2026-01-02T00:00:00Z';

/** `mac-1`, and what its status is besides. */
export const host = (status: Partial<Host['status']> = {}, name = 'mac-1'): Host => {
  const made = aHost({ name });
  return { ...made, status: { ...made.status, ...status } };
};
export const claimOf = ({ metadata }: Lease, more: object = {}) => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid,
  since: GRANTED,
  earliestEnd: A_DAY_LATER,
  ...more,
});
/** `mac-1`, that is drained. */
export const drained = (mode: NonNullable<Host['spec']['drain']>['mode'] = 'Cordon'): Host => {
  const made = host();
  return { ...made, spec: { ...made.spec, cordoned: true, drain: { mode } } };
};
export const leased = (lease = aLease(), more: object = {}) => host({ lease: claimOf(lease, more) });
export const pending = (status: 'True' | 'False', at: string, more: Partial<Host['status']> = {}) => {
  const made = host(more);
  const condition = { type: 'ScrubPending', status, reason: 'Test', message: '', lastTransitionTime: at };
  return { ...made, status: { ...made.status, conditions: [...(made.status?.conditions ?? []), condition] } };
};
export const resolved = (more: Partial<NonNullable<VM['spec']['resolved']>> = {}) => ({
  digest: 'sha256:aa',
  guestOS: 'linux' as const,
  vcpus: 2,
  memory: '4Gi',
  ...more,
});
export const bound = (name: string, spec: Partial<VM['spec']> = {}, namespace = 'red', status?: VM['status']): VM =>
  aVM({ name, namespace, spec: { hostName: 'mac-1', ...spec }, ...(status === undefined ? {} : { status }) });
export const mac = (name: string, more: Partial<VM['spec']> = {}) =>
  bound(name, { resolved: resolved({ guestOS: 'macos', memory: '1Gi' }), ...more });
export const guest = (id: string, power: NonNullable<NonNullable<VM['status']>['guest']>['power']) => ({
  id,
  power,
  epoch: 1,
});
export const leaving = (vm: VM): VM => ({ ...vm, metadata: { ...vm.metadata, deletionTimestamp: GRANTED } });

/** Lease `ci` of tenant `red`, active on host `mac-1` since the beginning. */
export function aLease(wish: { name?: string; namespace?: string; status?: Partial<Lease['status']> } = {}): Lease {
  const { name = 'ci', namespace = 'red' } = wish;
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace,
      uid: `uid-of-${namespace}-${name}`,
      resourceVersion: '1',
      creationTimestamp: GRANTED,
    },
    spec: { releasePolicy: 'Refuse' },
    status: {
      phase: 'Active',
      host: 'mac-1',
      hostUID: 'uid-of-mac-1',
      grantedAt: GRANTED,
      earliestEnd: A_DAY_LATER,
      ...wish.status,
    },
  };
}

/** Set `ci` of tenant `red`. */
export const aSet = (spec: Partial<LeaseSet['spec']> = {}, status?: LeaseSet['status']): LeaseSet => ({
  apiVersion: 'coppice.dev/v1',
  kind: 'LeaseSet',
  metadata: { name: 'ci', namespace: 'red', uid: 'set', resourceVersion: '1', creationTimestamp: GRANTED },
  spec: { replicas: 1, template: { spec: { releasePolicy: 'Refuse' } }, ...spec },
  ...(status === undefined ? {} : { status }),
});

/** The same Lease, as a part of that set. */
export const ofSet = (lease: Lease, uid = 'set'): Lease => {
  const owner = { apiVersion: 'coppice.dev/v1', kind: 'LeaseSet', name: 'ci', uid, controller: true };
  return { ...lease, metadata: { ...lease.metadata, ownerReferences: [owner] } };
};
/** A Lease of that set that has no host yet. */
export const waits = (name: string, spec: Partial<Lease['spec']> = {}): Lease => {
  const { status: _, ...lease } = aLease({ name });
  return ofSet({ ...lease, spec: { ...lease.spec, ...spec } });
};

import type { GuardContext } from '../../resources/guards/guard.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { Image } from '../../resources/kinds/image.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { Tenant } from '../../resources/kinds/tenant.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { ObjectMeta } from '../../resources/meta/object.ts';

export const EPOCH_START = '2026-01-01T00:00:00Z';
/** An operator asks, at the start of the epoch. */
export const AS_OPERATOR: GuardContext = {
  nowMs: Date.parse(EPOCH_START),
  asker: { user: 'operator', operator: true },
};
export const DIGEST = 'sha256:aa';

function meta(name: string, more: Partial<ObjectMeta> = {}): ObjectMeta {
  return { name, uid: `uid-of-${name}`, resourceVersion: '1', generation: 1, creationTimestamp: EPOCH_START, ...more };
}

export interface HostWish {
  name?: string;
  memory?: string;
  vcpus?: number;
  guestOS?: ('macos' | 'linux')[];
  slots?: number;
  leaked?: number;
  lessee?: string;
  cordoned?: boolean;
  ready?: boolean;
  images?: { name: string; digest: string; size: string }[];
  group?: string;
  labels?: Record<string, string>;
}

/** A ready host with room for 16 vCPUs and 16Gi that holds image `tiny`. */
export function aHost(wish: HostWish = {}): Host {
  const { memory = '16Gi', vcpus = 16, guestOS = ['linux', 'macos'], slots = 2, lessee, cordoned, ready = true } = wish;
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Host',
    metadata: meta(wish.name ?? 'mac-1', wish.labels === undefined ? {} : { labels: wish.labels }),
    spec: { group: wish.group ?? 'default', ...(cordoned === undefined ? {} : { cordoned }) },
    status: {
      allocatable: { vcpus, memory },
      driver: { name: 'sim', version: '1', accelerator: 'simulated', guestOS },
      macosSlots: { total: slots, used: 0, leaked: wish.leaked ?? 0 },
      images: wish.images ?? [{ name: 'tiny', digest: DIGEST, size: '10Mi' }],
      ...(lessee === undefined ? {} : { lease: { namespace: lessee, name: 'l', uid: 'l', since: EPOCH_START } }),
      conditions: [condition('Ready', ready ? 'True' : 'Unknown'), condition('DriverReady', 'True')],
    },
  };
}

const condition = (type: string, status: 'True' | 'False' | 'Unknown') => ({
  type,
  status,
  reason: 'Test',
  message: '',
  lastTransitionTime: EPOCH_START,
});

/** A Linux VM of tenant `red`, admitted with 2 vCPUs and 4Gi, bound nowhere. */
export function aVM(
  wish: { name?: string; namespace?: string; spec?: Partial<VM['spec']>; status?: VM['status'] } = {},
): VM {
  const { name = 'web', namespace = 'red' } = wish;
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'VM',
    metadata: meta(name, { namespace, uid: `uid-of-${namespace}-${name}` }),
    spec: {
      image: 'tiny',
      class: 'flex',
      power: 'Running',
      resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 2, memory: '4Gi' },
      ...wish.spec,
    },
    ...(wish.status === undefined ? {} : { status: wish.status }),
  };
}

export function aTenant(name = 'red', spec: Tenant['spec'] = {}): Tenant {
  return { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: meta(name), spec };
}

/** Lease `ci` of tenant `red`, that waits for a host. */
export function aLease(
  wish: { name?: string; namespace?: string; spec?: Partial<Lease['spec']>; status?: Lease['status'] } = {},
): Lease {
  const { name = 'ci', namespace = 'red', spec, status } = wish;
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Lease',
    metadata: meta(name, { namespace, uid: `uid-of-${namespace}-${name}` }),
    spec: { releasePolicy: 'Refuse', ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

/** Image `tiny`, found by the hosts. */
export function anImage(wish: { name?: string; guestOS?: 'macos' | 'linux'; status?: Image['status'] } = {}): Image {
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Image',
    metadata: meta(wish.name ?? 'tiny'),
    spec: {
      guestOS: wish.guestOS ?? 'linux',
      source: { path: wish.name ?? 'tiny' },
      defaults: { vcpus: 2, memory: '4Gi' },
    },
    status: wish.status ?? { digest: DIGEST },
  };
}

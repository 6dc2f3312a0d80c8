import type { Host } from '../../resources/kinds/host.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { aHost, EPOCH_START, type HostWish } from '../harness/builders.ts';

interface VolumeWish {
  readonly name?: string;
  readonly namespace?: string;
  readonly size?: string;
  /** Undefined: it has none yet. */
  readonly host?: string | undefined;
  readonly status?: Volume['status'];
}

/** Volume `data` of tenant `red`, of 50Gi, whole on host `mac-1`. */
export function aVolume(wish: VolumeWish = {}): Volume {
  const { name = 'data', namespace = 'red', size = '50Gi' } = wish;
  const host = 'host' in wish ? wish.host : 'mac-1';
  const uid = Buffer.from(`${namespace} ${name}`).toString('hex').padEnd(32, '0');
  const metadata = { name, namespace, uid, resourceVersion: '1', creationTimestamp: EPOCH_START };
  const file = {
    type: 'FileReady',
    status: 'True',
    reason: 'Test',
    message: '',
    lastTransitionTime: EPOCH_START,
  } as const;
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Volume',
    metadata: { ...metadata, finalizers: ['coppice.dev/volume'] },
    spec: { size, ...(host === undefined ? {} : { hostName: host }) },
    status:
      host === undefined
        ? { phase: 'Pending', ...wish.status }
        : { phase: 'Available', hostUID: `uid-of-${host}`, size, conditions: [file], ...wish.status },
  };
}

/** A ready host that attaches volumes, with 256Gi of disk. */
export function aHostWithDisk(wish: HostWish & { readonly disk?: string; readonly volumes?: boolean } = {}): Host {
  const host = aHost(wish);
  const { driver, allocatable } = host.status ?? {};
  return {
    ...host,
    status: {
      ...host.status,
      ...(allocatable === undefined ? {} : { allocatable: { ...allocatable, disk: wish.disk ?? '256Gi' } }),
      ...(driver === undefined ? {} : { driver: { ...driver, volumes: wish.volumes ?? true } }),
    },
  };
}

import { isLost } from '../../resources/guards/host-lost.ts';
import { waitsForScrub } from '../../resources/guards/host-scrub.ts';
import { guestIsGone } from '../../resources/guards/shares.ts';
import { volumesOf } from '../../resources/guards/volume-facts.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { isTrue } from '../../resources/meta/condition.ts';
import { jsonEqual, type KubeObject, objectKey } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { reconcile, type VolumeDeps } from './reconcile.ts';
import { VolumeWorld } from './volume-world.ts';

/** Changes that may make room are gathered this long. */
const GATHER_MS = 50;
const WAITING = 'waiting';

/** Finds each volume its host, gives it its id, and says what is so of it: owns its phase, whom it is attached to, and Ready. Keys are volumes. */
export function volumeDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const volumes = informers.of(Volume);
  const hosts = informers.of(Host);
  const vms = informers.of(VM);
  const byHost = volumes.index(({ spec }) => (spec.hostName === undefined ? [] : [spec.hostName]));
  const byNamespace = volumes.index(({ metadata }) => [metadata.namespace ?? '']);
  const waiting = volumes.index((volume) => (waits(volume) ? [WAITING] : []));
  const view = new VolumeWorld(informers);
  const deps: VolumeDeps = { client, volumes, hosts, view, events, clock, log };
  const keysOf = (some: readonly Volume[]) => some.map(({ metadata }) => objectKey(metadata));
  const waitingWhen = (matters: boolean) => (matters ? keysOf(waiting.get(WAITING)) : []);
  const specMoved = ({ before, after }: Change<KubeObject>) =>
    before?.metadata.uid !== after?.metadata.uid ||
    before?.metadata.deletionTimestamp !== after?.metadata.deletionTimestamp ||
    !jsonEqual(before?.spec, after?.spec);
  return {
    name: 'volume',
    watches: [
      // The world first: nothing may be decided on a change that it has not taken in.
      ...view.watches,
      watchCache(volumes, ({ key }) => [key]),
      watchCache(volumes, (change) => waitingWhen(givesBack(change)), GATHER_MS),
      watchCache(vms, ({ before, after }) =>
        jsonEqual(holdOf(before), holdOf(after)) ? [] : new Set([...namedBy(before), ...namedBy(after)]),
      ),
      watchCache(vms, ({ before, after }) => waitingWhen(before !== undefined && after === undefined), GATHER_MS),
      watchCache(hosts, ({ key, before, after }) =>
        jsonEqual(standingOf(before), standingOf(after)) ? [] : keysOf(byHost.get(key)),
      ),
      watchCache(hosts, ({ before, after }) => waitingWhen(!jsonEqual(roomOf(before), roomOf(after))), GATHER_MS),
      watchCache(informers.of(Tenant), (change) => (specMoved(change) ? keysOf(byNamespace.get(change.key)) : [])),
      watchCache(informers.of(Policy), (change) => (specMoved(change) ? keysOf([...volumes.list()]) : [])),
    ],
    workers: 4,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

function waits({ spec, metadata }: Volume): boolean {
  return spec.hostName === undefined && metadata.deletionTimestamp === undefined;
}

/** Whether a volume came to hold less than before: of a host's disk, or of its tenant's quota. */
function givesBack({ before, after }: Change<Volume>): boolean {
  return before !== undefined && (after === undefined || before.status?.phase !== after.status?.phase);
}

/** The keys of the volumes that a VM has. */
function namedBy(vm: VM | undefined): readonly string[] {
  return vm === undefined ? [] : volumesOf(vm).map((name) => objectKey({ name, namespace: vm.metadata.namespace }));
}

/** What of a VM a volume that it has goes by. */
function holdOf(vm: VM | undefined): unknown {
  if (vm === undefined || volumesOf(vm).length === 0) return undefined;
  const { uid, deletionTimestamp } = vm.metadata;
  const goes = deletionTimestamp !== undefined;
  return { uid, goes, host: vm.spec.hostName, gone: guestIsGone(vm), lost: isLost(vm) };
}

/** What a volume that lies on a host goes by. */
function standingOf(host: Host | undefined): unknown {
  if (host === undefined) return undefined;
  const { lease, orphans, scrub } = host.status ?? {};
  return {
    uid: host.metadata.uid,
    lease,
    pending: waitsForScrub(host),
    scrub: { outcome: scrub?.outcome, takes: scrub?.takesVolumes },
    orphans: orphans?.map(({ label }) => label),
    ready: isTrue(host, 'Ready'),
  };
}

/** What a volume that waits for a host goes by. */
function roomOf(host: Host | undefined): unknown {
  if (host === undefined) return undefined;
  const { allocatable, lease, driver } = host.status ?? {};
  return {
    spec: host.spec,
    labels: host.metadata.labels,
    ready: isTrue(host, 'Ready'),
    pending: waitsForScrub(host),
    disk: allocatable?.disk,
    lease,
    volumes: driver?.volumes,
  };
}

import { usableSlots } from '../../resources/guards/host-guard.ts';
import { waitsForScrub } from '../../resources/guards/host-scrub.ts';
import { isIdle, shapeOf } from '../../resources/guards/pool-members.ts';
import { hostShareOf, tenantShareOf } from '../../resources/guards/shares.ts';
import { notReady } from '../../resources/guards/volume-facts.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Pool } from '../../resources/kinds/pool.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { isTrue } from '../../resources/meta/condition.ts';
import { jsonEqual, type KubeObject } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { PlacementWorld } from './placement-world.ts';
import { isWaiting, PASS, type PlacementDeps, reconcile, WAITING } from './reconcile.ts';

/** Changes that may make room are gathered this long, since each costs a look at all that wait. */
const GATHER_MS = 50;
/** A pass over a large fleet is many writes long. */
const DEADLINE_MS = 600_000;

/** Binds each VM to a host, or says why it waits. */
export function placementDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const vms = informers.of(VM);
  const hosts = informers.of(Host);
  const waiting = vms.index((vm) => (isWaiting(vm) ? [WAITING] : []));
  const idle = vms.index((vm) => (isIdle(vm) ? [shapeOf(vm) ?? ''] : []));
  const view = new PlacementWorld(informers);
  const refused = new Map<string, string>();
  const deps: PlacementDeps = { client, vms, waiting, idle, refused, hosts, view, events, clock, log };
  const pass = [PASS];
  const passWhen = (matters: boolean) => (matters && waiting.count(WAITING) > 0 ? pass : []);
  const specMoved = ({ before, after }: Change<KubeObject>) =>
    before?.metadata.uid !== after?.metadata.uid || !jsonEqual(before?.spec, after?.spec);
  return {
    name: 'placement',
    watches: [
      // The world first: nothing may be decided on a change that it has not taken in.
      ...view.watches,
      watchCache(vms, ({ key, after }) => (after !== undefined && isWaiting(after) ? pass : [key])),
      watchCache(vms, (change) => passWhen(givesBack(change, view)), GATHER_MS),
      watchCache(vms, ({ before, after }) => {
        if (after === undefined && before !== undefined) refused.delete(before.metadata.uid);
        return passWhen(after !== undefined && isIdle(after) && (before === undefined || !isIdle(before)));
      }),
      watchCache(hosts, ({ before, after }) => passWhen(!jsonEqual(factsOf(before), factsOf(after))), GATHER_MS),
      watchCache(informers.of(Volume), (change) => passWhen(readinessOf(change.before) !== readinessOf(change.after))),
      watchCache(informers.of(Tenant), (change) => passWhen(specMoved(change)), GATHER_MS),
      watchCache(informers.of(Policy), (change) => passWhen(specMoved(change)), GATHER_MS),
      watchCache(informers.of(Pool), (change) => passWhen(specMoved(change)), GATHER_MS),
      watchCache(
        informers.of(Image),
        (change) => passWhen(specMoved(change) || change.before?.status?.digest !== change.after?.status?.digest),
        GATHER_MS,
      ),
    ],
    workers: 4,
    deadlineMs: DEADLINE_MS,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

/** Whether a VM came to hold something else than before, of its host or of its tenant's quota. */
function givesBack({ before, after }: Change<VM>, { world }: PlacementWorld): boolean {
  if (before === undefined) return false;
  return (
    !jsonEqual(tenantShareOf(before), after && tenantShareOf(after)) ||
    !jsonEqual(hostShareOf(before, world), after && hostShareOf(after, world))
  );
}

/** What a placement depends on; the rest of a host's status may move as it likes. */
function factsOf(host: Host | undefined): unknown {
  return (
    host && {
      spec: host.spec,
      labels: host.metadata.labels,
      ready: isTrue(host, 'Ready'),
      allocatable: host.status?.allocatable,
      lease: host.status?.lease,
      scrub: waitsForScrub(host),
      slots: usableSlots(host),
      images: host.status?.images,
      guestOS: host.status?.driver?.guestOS,
      volumes: host.status?.driver?.volumes,
    }
  );
}

/** Whether a volume can be had, and if not why: VMs that wait for it say so. */
function readinessOf(volume: Volume | undefined): string | undefined {
  return volume === undefined ? undefined : (notReady(volume) ?? 'ready');
}

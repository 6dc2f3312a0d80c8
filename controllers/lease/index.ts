import { waitsForScrub } from '../../resources/guards/host-scrub.ts';
import { holdsHost } from '../../resources/guards/lease-term.ts';
import { hostShareOf } from '../../resources/guards/shares.ts';
import { isVolumeLost } from '../../resources/guards/volume-facts.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import { jsonEqual, type KubeObject, objectKey } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { type LeaseDeps, PASS, WAITING } from './lease-deps.ts';
import { LeaseWorld } from './lease-world.ts';
import { reconcile } from './reconcile.ts';
import { waits } from './reconcile-grant.ts';
import { SteadyClock } from './steady-clock.ts';

/** Changes that may free a host are gathered this long, since each costs a look at all that wait. */
const GATHER_MS = 50;
const DEADLINE_MS = 600_000;

/** Gives hosts to Leases, or says why they wait; ends them when their time has come: first the VMs of the lessee go, then the host is let go. */
export function leaseDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const leases = informers.of(Lease);
  const hosts = informers.of(Host);
  const vms = informers.of(VM);
  const waiting = leases.index((lease) => (waits(lease) ? [WAITING] : []));
  const heldOn = leases.index((lease) => (holdsHost(lease) ? [lease.status?.host ?? ''] : []));
  const vmsByHost = vms.index((vm) => (vm.spec.hostName === undefined ? [] : [vm.spec.hostName]));
  const view = new LeaseWorld(informers);
  const steady = new SteadyClock(clock);
  const deps: LeaseDeps = { client, leases, waiting, hosts, vmsByHost, view, events, clock, steady, log };
  const passWhen = (matters: () => boolean) => (waiting.count(WAITING) > 0 && matters() ? [PASS] : []);
  const specMoved = ({ before, after }: Change<KubeObject>) =>
    before?.metadata.uid !== after?.metadata.uid ||
    before?.metadata.deletionTimestamp !== after?.metadata.deletionTimestamp ||
    !jsonEqual(before?.spec, after?.spec);
  /** What ends on a host: its lease, and a claim without one. */
  const endingsOn = (host: string) => [host, ...heldOn.get(host).map((lease) => objectKey(lease.metadata))];
  return {
    name: 'lease',
    watches: [
      // The world first: nothing may be decided on a change that it has not taken in.
      ...view.watches,
      watchCache(leases, ({ key, after }) => (after === undefined ? [] : waits(after) ? [PASS] : [key])),
      watchCache(hosts, ({ key, before, after }) =>
        jsonEqual(standingOf(before), standingOf(after)) ? [] : endingsOn(key),
      ),
      watchCache(hosts, ({ before, after }) => passWhen(() => !jsonEqual(factsOf(before), factsOf(after))), GATHER_MS),
      watchCache(vms, (change) => [...leftBy(change)].flatMap(endingsOn)),
      watchCache(vms, (change) => passWhen(() => leftBy(change).size > 0), GATHER_MS),
      watchCache(
        informers.of(Volume),
        (change) => passWhen(() => liesAt(change.before) !== liesAt(change.after)),
        GATHER_MS,
      ),
      watchCache(informers.of(Tenant), (change) => passWhen(() => specMoved(change)), GATHER_MS),
      watchCache(informers.of(Policy), (change) => passWhen(() => specMoved(change)), GATHER_MS),
    ],
    // One pass at a time; ends go beside it.
    workers: 4,
    deadlineMs: DEADLINE_MS,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };

  /** Hosts on which a VM came to hold something, or ceased to. */
  function leftBy({ before, after }: Change<VM>): ReadonlySet<string> {
    const held = (vm: VM | undefined) => vm !== undefined && hostShareOf(vm, view.world) !== undefined;
    if (held(before) === held(after) && before?.spec.hostName === after?.spec.hostName) return new Set();
    return new Set([before, after].flatMap((vm) => vm?.spec.hostName ?? []));
  }
}

/** The host that a volume with data lies on. */
function liesAt(volume: Volume | undefined): string | undefined {
  return volume === undefined || isVolumeLost(volume) ? undefined : volume.spec.hostName;
}

/** What an Active lease tells of its host, and a claim ends by. */
function standingOf(host: Host | undefined): unknown {
  if (host === undefined) return undefined;
  return { uid: host.metadata.uid, ready: findCondition(host, 'Ready')?.status, lease: host.status?.lease };
}

/** What a grant depends on; the rest of a host's status may move as it likes. */
function factsOf(host: Host | undefined): unknown {
  return (
    host && {
      spec: host.spec,
      labels: host.metadata.labels,
      ready: isTrue(host, 'Ready'),
      scrub: waitsForScrub(host),
      allocatable: host.status?.allocatable,
      lease: host.status?.lease,
      os: host.status?.os,
      nested: host.status?.nested,
      orphans: host.status?.orphans?.length ?? 0,
    }
  );
}

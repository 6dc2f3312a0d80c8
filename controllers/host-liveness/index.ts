import { isLost, isOfAnotherHost } from '../../resources/guards/host-lost.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { HOST_LEASE_NAMESPACE, hostLeaseName } from '../../resources/streams/control-messages.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { GRACE_MS, isSilent } from './decide.ts';
import { reconcile } from './reconcile.ts';
import { reconcileVM, type VMDeps } from './reconcile-vm.ts';
import { Sightings } from './sightings.ts';

/**
 * Says of each host whether its nodelet is heard from and whether it takes VMs: owns the conditions Ready and Schedulable. While a host is not heard, or is
 * gone, it also owns Ready of the VMs bound to it; a nodelet that is back takes that over with its next report. Keys are hosts, and VMs by namespace/name.
 */
export function hostLivenessDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const hosts = informers.of(Host);
  const vms = informers.of(VM);
  const coordinationLeases = informers.of(CoordinationLease);
  const vmsByHost = vms.index((vm) => (vm.spec.hostName === undefined ? [] : [vm.spec.hostName]));
  const unheard = (vm: VM | undefined) => {
    if (vm?.spec.hostName === undefined) return false;
    if (isLost(vm)) return true;
    const host = hosts.get(vm.spec.hostName);
    return host === undefined || isSilent(host) || isOfAnotherHost(vm, host);
  };
  const deps: VMDeps = {
    client,
    vms,
    hosts,
    coordinationLeases,
    sightings: new Sightings(clock),
    events,
    clock,
    log,
  };
  return {
    name: 'host-liveness',
    watches: [
      watchCache(hosts, ({ key }) => [key]),
      watchCache(coordinationLeases, hostOf),
      watchCache(hosts, ({ key, before, after }) =>
        standingOf(before) === standingOf(after, before) || standingOf(after, before) === 'there'
          ? []
          : vmsByHost.get(key).map((vm) => objectKey(vm.metadata)),
      ),
      watchCache(vms, ({ key, before, after }) =>
        unheard(after) && before?.metadata.generation !== after?.metadata.generation ? [key] : [],
      ),
      // Its nodelet may have written this, being back before its heartbeat is: it gets the time that a host does.
      watchCache(vms, ({ key, after }) => (unheard(after) ? [key] : []), GRACE_MS),
    ],
    workers: 4,
    reconcile: (key, signal) => (key.includes('/') ? reconcileVM(key, deps, signal) : reconcile(key, deps, signal)),
  };
}

/** As far as it matters to the VMs of a host. */
function standingOf(host: Host | undefined, before?: Host): 'gone' | 'silent' | 'there' {
  // Another of the same name: the one that was is gone.
  if (host === undefined || (before !== undefined && before.metadata.uid !== host.metadata.uid)) return 'gone';
  return isSilent(host) ? 'silent' : 'there';
}

const PREFIX = hostLeaseName('');

function hostOf({ before, after }: Change<CoordinationLease>): readonly string[] {
  const meta = (after ?? before)?.metadata;
  if (meta?.namespace !== HOST_LEASE_NAMESPACE || !meta.name.startsWith(PREFIX)) return [];
  return [meta.name.slice(PREFIX.length)];
}

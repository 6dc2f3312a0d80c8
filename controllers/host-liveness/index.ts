import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { Host } from '../../resources/kinds/host.ts';
import { HOST_LEASE_NAMESPACE, hostLeaseName } from '../../resources/streams/control-messages.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { type HostLivenessDeps, reconcile } from './reconcile.ts';
import { Sightings } from './sightings.ts';

/** Says of each host whether its nodelet is heard from and whether it takes VMs: owns the conditions Ready and Schedulable. */
export function hostLivenessDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const hosts = informers.of(Host);
  const coordinationLeases = informers.of(CoordinationLease);
  const deps: HostLivenessDeps = {
    client,
    hosts,
    coordinationLeases,
    sightings: new Sightings(clock),
    events,
    clock,
    log,
  };
  return {
    name: 'host-liveness',
    watches: [watchCache(hosts, ({ key }) => [key]), watchCache(coordinationLeases, hostOf)],
    workers: 4,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

const PREFIX = hostLeaseName('');

function hostOf({ before, after }: Change<CoordinationLease>): readonly string[] {
  const meta = (after ?? before)?.metadata;
  if (meta?.namespace !== HOST_LEASE_NAMESPACE || !meta.name.startsWith(PREFIX)) return [];
  return [meta.name.slice(PREFIX.length)];
}

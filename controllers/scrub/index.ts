import { waitsForScrub } from '../../resources/guards/host-scrub.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { reconcile, type ScrubDeps } from './reconcile.ts';

/** Has hosts cleared of everything of their last lessee, when an operator or the policy asks: owns ScrubPending once it is there, and the report. Keys are hosts. */
export function scrubDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const hosts = informers.of(Host);
  const vms = informers.of(VM);
  const volumes = informers.of(Volume);
  const policies = informers.of(Policy);
  const vmsByHost = vms.index((vm) => (vm.spec.hostName === undefined ? [] : [vm.spec.hostName]));
  const volumesByHost = volumes.index(({ spec }) => (spec.hostName === undefined ? [] : [spec.hostName]));
  const deps: ScrubDeps = { client, hosts, vmsByHost, volumesByHost, policies, events, clock, log };
  /** The host of a volume, if it waits for a scrub: it tells of what stands in the way. */
  const pendingHost = (volume: Volume | undefined) => {
    const host = hosts.get(volume?.spec.hostName ?? '');
    return host !== undefined && waitsForScrub(host) ? [host.metadata.name] : [];
  };
  /** The host of a VM or a volume, if its scrub waits. */
  const waitingHost = (bound: VM | Volume | undefined) => {
    const name = bound?.spec.hostName ?? '';
    return hosts.get(name)?.status?.scrub?.outcome === 'Waiting' ? [name] : [];
  };
  return {
    name: 'scrub',
    watches: [
      watchCache(hosts, ({ key }) => [key]),
      watchCache(vms, ({ before, after }) => [...waitingHost(before), ...waitingHost(after)]),
      watchCache(volumes, ({ before, after }) => [
        ...waitingHost(before),
        ...waitingHost(after),
        ...pendingHost(after),
      ]),
      watchCache(policies, () => [...hosts.list()].map(({ metadata }) => metadata.name)),
    ],
    workers: 4,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

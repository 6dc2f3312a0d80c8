import { isDraining } from '../../resources/guards/host-drain.ts';
import { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import { jsonEqual, objectKey } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { type DrainDeps, reconcile } from './reconcile.ts';
import { reconcileStandIn } from './reconcile-stand-in.ts';
import { Setbacks } from './setbacks.ts';

const DRAINING = 'draining';

/** Empties hosts as far as their drain says: owns condition Drained and status.drain. Keys are hosts, and stand-ins by namespace/name. */
export function drainDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const hosts = informers.of(Host);
  const vms = informers.of(VM);
  const draining = hosts.index((host) => (isDraining(host) ? [DRAINING] : []));
  const vmsByHost = vms.index((vm) => (vm.spec.hostName === undefined ? [] : [vm.spec.hostName]));
  const standIns = vms.index(({ spec }) => (spec.standsInFor === undefined ? [] : [spec.standsInFor.uid]));
  const setbacks = new Setbacks(clock);
  const deps: DrainDeps = { client, hosts, vms, vmsByHost, standIns, setbacks, events, clock, log };
  const drainOf = (name = '') => {
    const host = hosts.get(name);
    return host !== undefined && isDraining(host) ? [name] : [];
  };
  const standInsOf = (vm: VM) => standIns.get(vm.metadata.uid).map(({ metadata }) => objectKey(metadata));
  /** Whose move or going a VM has a part in. */
  const touchedBy = (vm: VM | undefined): readonly string[] => {
    if (vm === undefined) return [];
    const { hostName, standsInFor } = vm.spec;
    if (standsInFor === undefined) return [...drainOf(hostName), ...standInsOf(vm)];
    const original = vms.get(objectKey({ ...vm.metadata, name: standsInFor.name }));
    return [objectKey(vm.metadata), ...drainOf(hostName), ...drainOf(original?.spec.hostName)];
  };
  return {
    name: 'drain',
    watches: [
      watchCache(hosts, ({ key, before, after }) => (jsonEqual(drainFacts(before), drainFacts(after)) ? [] : [key])),
      // Where a drain ends, what was begun for it is given up.
      watchCache(hosts, ({ key, before, after }) =>
        jsonEqual(before?.spec.drain, after?.spec.drain) ? [] : vmsByHost.get(key).flatMap(standInsOf),
      ),
      // A host on which a stand-in is may have ceased to be one to go to.
      watchCache(hosts, (change) =>
        tookVMs(change) ? draining.get(DRAINING).map(({ metadata }) => metadata.name) : [],
      ),
      watchCache(vms, ({ before, after }) => [...touchedBy(before), ...touchedBy(after)]),
    ],
    workers: 4,
    reconcile: (key, signal) =>
      key.includes('/') ? reconcileStandIn(key, deps, signal) : reconcile(key, deps, signal),
  };
}

/** What of a host its own drain depends on, or tells. */
function drainFacts(host: Host | undefined): unknown {
  if (host === undefined || (!isDraining(host) && host.status?.drain === undefined)) return undefined;
  const { drain } = host.spec;
  const { generation } = host.metadata;
  return {
    drain,
    generation,
    ready: isTrue(host, 'Ready'),
    drained: findCondition(host, 'Drained'),
    told: host.status?.drain,
  };
}

/** Whether a host took VMs, and may not any more. */
function tookVMs({ before, after }: Change<Host>): boolean {
  const takes = (host: Host | undefined) => host !== undefined && isTrue(host, 'Ready') && host.spec.cordoned !== true;
  return takes(before) && !takes(after);
}

import { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { reconcile, type VMLifecycleDeps } from './reconcile.ts';

/** Ends VMs whose ttl is over, and lets VMs go that no nodelet will: never bound, or bound to a host that is gone. */
export function vmLifecycleDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const vms = informers.of(VM);
  const hosts = informers.of(Host);
  const leavingByHost = vms.index((vm) =>
    vm.metadata.deletionTimestamp === undefined || vm.spec.hostName === undefined ? [] : [vm.spec.hostName],
  );
  const deps: VMLifecycleDeps = { client, vms, hosts, events, clock, log };
  return {
    name: 'vm-lifecycle',
    watches: [
      watchCache(vms, ({ key }) => [key]),
      watchCache(hosts, ({ key, after }) =>
        after === undefined ? leavingByHost.get(key).map((vm) => objectKey(vm.metadata)) : [],
      ),
    ],
    workers: 4,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

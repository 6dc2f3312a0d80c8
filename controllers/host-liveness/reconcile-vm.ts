import { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { HOST_LEASE_NAMESPACE, hostLeaseName } from '../../resources/streams/control-messages.ts';
import type { CacheView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import { orGone, writeStatus } from '../runtime/write.ts';
import { decideVM } from './decide-vm.ts';
import type { HostLivenessDeps } from './reconcile.ts';

export interface VMDeps extends HostLivenessDeps {
  readonly vms: CacheView<VM>;
}

/** Tells of a bound VM what is known of it when its nodelet does not. */
export async function reconcileVM(key: string, deps: VMDeps, signal: AbortSignal): Promise<Outcome> {
  const { client, hosts, coordinationLeases, clock, events, log } = deps;
  const vm = deps.vms.get(key);
  if (vm?.spec.hostName === undefined) return {};
  const { hostName } = vm.spec;
  const lease = coordinationLeases.get(`${HOST_LEASE_NAMESPACE}/${hostLeaseName(hostName)}`);
  const decision = decideVM(vm, hosts.get(hostName), lease, clock.now());
  if (decision.kind === 'nothing') return {};
  if (decision.kind === 'tell-if-host-gone') {
    // The cache may not show a host yet that is there: only the server can say that it is gone.
    if ((await orGone(client.resource<Host>(Host).get(decision.host, signal))) !== undefined) return { again: true };
  }
  const written = await writeStatus(client.resource<VM>(VM, vm.metadata.namespace), vm, decision.status, signal);
  const [was, is] = [findCondition(vm, 'Ready'), written && findCondition(written, 'Ready')];
  if (is !== undefined && is.reason !== was?.reason) {
    log.info('vm without its nodelet', { vm: key, host: hostName, reason: is.reason });
    events.record(vm, { type: 'Warning', reason: is.reason, message: is.message });
  }
  return {};
}

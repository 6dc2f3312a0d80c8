import { isLost } from '../guards/host-lost.ts';
import { HOSTS, VMS } from '../guards/refs.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { isThere, vmName } from './guest-facts.ts';
import type { Finding, Invariant, Step } from './invariant.ts';
import { allowsBusy } from './lease-facts.ts';
import { changeOf, changesOf, guestBefore, vmChangesOn } from './step-changes.ts';

/** Judged when a VM is bound and when a host is leased. What the policy allowed when it came about stays allowed. */
export const lesseeAlone: Invariant = {
  name: 'lessee-alone',
  sentence: 'A leased host runs VMs of its lessee only.',

  *subjects(step) {
    for (const { key } of changesOf(step, HOSTS)) yield key;
    for (const { before, after } of changesOf(step, VMS)) {
      for (const vm of [before, after]) if (vm?.spec.hostName !== undefined) yield vm.spec.hostName;
    }
  },

  findings(name, step) {
    const { state } = step;
    const host = state.host(name);
    const claim = host?.status?.lease;
    if (host === undefined || claim === undefined || state.policy()?.spec.exclusiveLeasedHosts === false) return [];
    const lease = state.leaseByUID(claim.uid);
    const shared = lease !== undefined && allowsBusy(lease);
    const judged = shared ? newHere(name, step) : isNewLessee(name, step) ? state.vmsOn(name) : newHere(name, step);
    return judged
      .filter((vm) => isThere(vm) && !isLost(vm) && vm.metadata.namespace !== claim.namespace)
      .map((vm) => finding(host, claim, vm));
  },
};

function finding(host: Host, claim: { readonly namespace: string; readonly name: string }, vm: VM): Finding {
  const { name } = host.metadata;
  return {
    key: `${vm.metadata.uid} ${claim.namespace}`,
    message: `${vmName(vm)} is bound to host ${name}, which is leased to ${claim.namespace} by lease ${claim.name}`,
    objects: [`host/${name}`, vmName(vm), `lease/${claim.namespace}/${claim.name}`],
  };
}

function isNewLessee(host: string, step: Step): boolean {
  const { before, after } = changeOf(step, HOSTS, host) ?? {};
  return before?.status?.lease?.namespace !== after?.status?.lease?.namespace;
}

/** VMs that came to this host in this step, with guests that were not there before; in the first one nobody knows when they did. */
function newHere(host: string, step: Step): readonly VM[] {
  if (step.first) return [];
  return vmChangesOn(step, host).flatMap(({ before, after }) =>
    after?.spec.hostName === host && before?.spec.hostName !== host && guestBefore(step, host, after) === undefined
      ? [after]
      : [],
  );
}

import { isLost } from '../guards/host-lost.ts';
import { HOSTS, VMS, VOLUMES } from '../guards/refs.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import type { KubeObject } from '../meta/object.ts';
import { isThere, vmName } from './guest-facts.ts';
import type { Finding, Invariant, Step } from './invariant.ts';
import { allowsBusy } from './lease-facts.ts';
import { changeOf, changesOf, guestBefore, vmChangesOn } from './step-changes.ts';
import { isDataLost, nameOfVolume } from './volume-facts.ts';

/** Judged when a VM is bound and when a host is leased. What the policy allowed when it came about stays allowed. */
export const lesseeAlone: Invariant = {
  name: 'lessee-alone',
  sentence: 'A leased host runs VMs of its lessee only, and comes to have volumes of nobody else.',

  *subjects(step) {
    for (const { key } of changesOf(step, HOSTS)) yield key;
    for (const { before, after } of changesOf(step, VMS)) {
      for (const vm of [before, after]) if (vm?.spec.hostName !== undefined) yield vm.spec.hostName;
    }
    for (const { after } of changesOf(step, VOLUMES)) if (after?.spec.hostName !== undefined) yield after.spec.hostName;
  },

  findings(name, step) {
    const { state } = step;
    const host = state.host(name);
    const claim = host?.status?.lease;
    if (host === undefined || claim === undefined || state.policy()?.spec.exclusiveLeasedHosts === false) return [];
    const lease = state.leaseByUID(claim.uid);
    const shared = lease !== undefined && allowsBusy(lease);
    const judged = shared ? newHere(name, step) : isNewLessee(name, step) ? state.vmsOn(name) : newHere(name, step);
    return [
      ...judged
        .filter((vm) => isThere(vm) && !isLost(vm) && vm.metadata.namespace !== claim.namespace)
        .map((vm) => finding(host, claim, vmName(vm), vm)),
      ...volumesNewOn(host, step)
        .filter((volume) => volume.metadata.namespace !== claim.namespace)
        .map((volume) => finding(host, claim, nameOfVolume(volume), volume)),
    ];
  },
};

/** Volumes with data that came to be on a leased host in this step, or were there when it was leased. */
function volumesNewOn(host: Host, step: Step): readonly Volume[] {
  if (step.first) return [];
  const { name, uid } = host.metadata;
  const came = changesOf(step, VOLUMES).flatMap(({ before, after }) =>
    after?.spec.hostName === name && before?.spec.hostName !== name ? [after] : [],
  );
  const those = isNewLessee(name, step) ? step.state.volumesOn(name) : came;
  return those.filter((volume) => !isDataLost(volume) && volume.status?.hostUID === uid);
}

function finding(
  host: Host,
  claim: { readonly namespace: string; readonly name: string },
  whose: string,
  { metadata }: KubeObject,
): Finding {
  const { name } = host.metadata;
  return {
    key: `${metadata.uid} ${claim.namespace}`,
    message: `${whose} is bound to host ${name}, which is leased to ${claim.namespace} by lease ${claim.name}`,
    objects: [`host/${name}`, whose, `lease/${claim.namespace}/${claim.name}`],
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

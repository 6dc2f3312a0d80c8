import { HOSTS, VMS } from '../guards/refs.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { findCondition, isTrue } from '../meta/condition.ts';
import { HOST_LEASE_RENEWAL_MS } from '../streams/control-messages.ts';
import { isOn, vmName } from './guest-facts.ts';
import type { Finding, Invariant } from './invariant.ts';
import { changesOf } from './step-changes.ts';

/** Of a host that is not heard nothing is known, and its VMs keep their phase: that is no fault of theirs. */
export const runningHasGuest: Invariant = {
  name: 'running-has-guest',
  sentence: 'A VM is not Running without a guest for longer than a heartbeat of its host.',

  *subjects(step) {
    for (const { before, after } of changesOf(step, VMS)) {
      for (const vm of [before, after]) yield `on ${vm?.spec.hostName ?? ''}`;
      const { namespace, name } = (after ?? before)?.metadata ?? {};
      yield `vm ${namespace}/${name}`;
    }
    for (const { key, before, after } of changesOf(step, HOSTS)) {
      yield `on ${key}`;
      if ((before === undefined) === (after === undefined)) continue;
      for (const { metadata } of step.state.vmsOn(key)) yield `vm ${metadata.namespace}/${metadata.name}`;
    }
  },

  findings(subject, { state, first }) {
    if (subject.startsWith('on ')) {
      const host = state.host(subject.slice('on '.length));
      return host === undefined ? [] : tooManyMacs(host, state.vmsOn(host.metadata.name));
    }
    const vm = state.get('coppice.dev/vms', subject.slice('vm '.length)) as VM | undefined;
    const why = vm?.status?.phase === 'Running' ? guestMissing(vm, state.host(vm.spec.hostName ?? '')) : undefined;
    if (vm === undefined || why === undefined) return [];
    const since = first ? Date.parse(findCondition(vm, 'Ready')?.lastTransitionTime ?? '') : Number.NaN;
    const message = `${vmName(vm)} is Running, and ${why}`;
    const sinceMs = Number.isNaN(since) ? {} : { sinceMs: since };
    return [{ key: 'none', message, objects: [vmName(vm)], tolerated: { ms: HOST_LEASE_RENEWAL_MS, ...sinceMs } }];
  },
};

function guestMissing(vm: VM, host: Host | undefined): string | undefined {
  const { hostName } = vm.spec;
  if (hostName === undefined) return 'bound to no host';
  if (host === undefined) return `host ${hostName} is not there`;
  if (vm.status?.guest === undefined) return `host ${hostName} has told of no guest`;
  return isOn(vm) ? undefined : `its guest ${vm.status.guest.id} on host ${hostName} is ${vm.status.guest.power}`;
}

/** Hosts count their macOS guests: more VMs than that cannot be running. */
function tooManyMacs(host: Host, vms: readonly VM[]): readonly Finding[] {
  const used = host.status?.macosSlots?.used;
  if (used === undefined || !isTrue(host, 'Ready')) return [];
  const running = vms.filter(
    (vm) =>
      vm.spec.resolved?.guestOS === 'macos' &&
      vm.status?.phase === 'Running' &&
      vm.metadata.deletionTimestamp === undefined,
  );
  if (running.length <= used) return [];
  const names = running.map(vmName).sort();
  return [
    {
      key: 'macs',
      message: `host ${host.metadata.name} runs ${used} macOS guests, and ${running.length} VMs are said to run there: ${names.join(', ')}`,
      objects: [`host/${host.metadata.name}`, ...names],
      tolerated: { ms: HOST_LEASE_RENEWAL_MS },
    },
  ];
}

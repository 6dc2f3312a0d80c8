import { HOSTS, VMS } from '../guards/refs.ts';
import { isTrue } from '../meta/condition.ts';
import { HOST_LEASE_RENEWAL_MS } from '../streams/control-messages.ts';
import { guestOf, vmName } from './guest-facts.ts';
import type { Finding, Invariant, Step } from './invariant.ts';
import { changesOf } from './step-changes.ts';

/**
 * A guest whose VM object went before it did is looked for among the orphans of its host, for as long as a host that is heard takes to tell. Of a host that is
 * not heard nothing is known; one that was given up or scrubbed has no guests.
 */
export const everyGuestNamed: Invariant = {
  name: 'every-guest-named',
  sentence: 'A guest is that of one VM, or its host reports it as an orphan.',

  *subjects(step) {
    for (const { before, after } of changesOf(step, VMS)) {
      for (const vm of [before, after]) if (vm !== undefined) yield* [`guest ${guestOf(vm)}`, `on ${vm.spec.hostName}`];
    }
    for (const { key } of changesOf(step, HOSTS)) yield `on ${key}`;
  },

  findings(subject, step) {
    if (subject.startsWith('on ')) return strays(subject.slice('on '.length), step);
    return claimedTwice(subject.slice('guest '.length), step);
  },
};

/** Those that go may still name the guest that has passed over to another. */
function claimedTwice(id: string, { state }: Step): readonly Finding[] {
  const staying = state.vmsNaming(id).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (staying.length < 2) return [];
  const names = staying.map(vmName).sort();
  return [
    { key: 'twice', message: `guest ${id} is named by ${names.length} VMs: ${names.join(', ')}`, objects: names },
  ];
}

function strays(name: string, { state }: Step): readonly Finding[] {
  const host = state.host(name);
  if (host === undefined || !isTrue(host, 'Ready')) return [];
  return state.straysOn(name).map(({ id, vm }) => ({
    key: id,
    message: `guest ${id} of host ${name} has had no VM since ${vm} went, and is not reported as an orphan`,
    objects: [`host/${name}`, vm],
    tolerated: { ms: HOST_LEASE_RENEWAL_MS },
  }));
}

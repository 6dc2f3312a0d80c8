import { isLost } from '../guards/host-lost.ts';
import { VMS } from '../guards/refs.ts';
import type { VM } from '../kinds/vm.ts';
import { isTrue } from '../meta/condition.ts';
import { guestOf, isOn, mayHaveGuest, vmName } from './guest-facts.ts';
import type { Finding, Invariant, Step } from './invariant.ts';
import { changeOf, changesOf } from './step-changes.ts';

/**
 * Make before break. A VM that is moved is told to be ready only of the guest that it names, on the host that it is bound to; its binding is newer than the
 * one before; and somebody answers for the guest that was, until that is gone.
 */
export const movesWithGuest: Invariant = {
  name: 'moves-with-guest',
  sentence: 'A VM that is ready has the guest it names, and one that is moved has it before the old one goes.',

  *subjects(step) {
    for (const { key } of changesOf(step, VMS)) yield key;
  },

  findings(key, step) {
    const vm = step.state.vm(key);
    if (vm === undefined) return [];
    const before = step.first ? undefined : changeOf(step, VMS, key)?.before;
    const moved = before?.metadata.uid === vm.metadata.uid ? movedFrom(before, vm, step) : [];
    return [...readyOfAnother(vm), ...moved];
  },
};

function readyOfAnother(vm: VM): readonly Finding[] {
  const { hostName } = vm.spec;
  const { guest, host } = vm.status ?? {};
  if (!isTrue(vm, 'Ready') || hostName === undefined) return [];
  const say = (key: string, what: string) => [
    { key, message: `${vmName(vm)} is Ready, and ${what}`, objects: [vmName(vm), `host/${hostName}`] },
  ];
  if (guest === undefined || !isOn(vm)) return say('none', `its guest is ${guest?.power ?? 'not there'}`);
  if (guest.id !== guestOf(vm)) return say('other', `tells of guest ${guest.id} while its own is ${guestOf(vm)}`);
  return host === hostName ? [] : say('elsewhere', `tells of host ${host} while it is bound to ${hostName}`);
}

/** A stand-in takes the guest, and the binding, of the VM that takes its own: it goes, so nothing of it is newer. */
function movedFrom(before: VM, after: VM, { state }: Step): readonly Finding[] {
  const [was, is] = [before.spec.epoch ?? 0, after.spec.epoch ?? 0];
  const goes = after.spec.standsInFor !== undefined && after.metadata.deletionTimestamp !== undefined;
  const found: Finding[] = [];
  const objects = [vmName(after)];
  const rebound = before.spec.hostName !== undefined && before.spec.hostName !== after.spec.hostName;
  if (!goes && (is < was || (rebound && is === was))) {
    const hosts = `host ${before.spec.hostName} to ${after.spec.hostName}`;
    const message = `${vmName(after)} went from binding ${was} to ${is} (${hosts})`;
    found.push({ key: 'epoch', message, objects });
  }
  const left = guestOf(before);
  const answered = state.vmsNaming(left).length > 0 || isLost(before);
  if (guestOf(after) !== left && mayHaveGuest(before) && !answered) {
    const message = `${vmName(after)} left guest ${left} on host ${before.spec.hostName}, and no VM names it`;
    found.push({ key: 'left', message, objects });
  }
  return found;
}

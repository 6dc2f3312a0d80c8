import { VMS } from '../guards/refs.ts';
import { vmName } from './guest-facts.ts';
import type { Finding, Invariant } from './invariant.ts';
import { changesOf, guestBefore, vmChangesOn } from './step-changes.ts';

/** Judged when a VM is bound: what a host has when its drain begins may stay. */
export const drainingTakesNone: Invariant = {
  name: 'draining-takes-none',
  sentence: 'A host that is drained takes no new VM.',

  *subjects(step) {
    for (const { after } of changesOf(step, VMS)) if (after?.spec.hostName !== undefined) yield after.spec.hostName;
  },

  findings(name, step) {
    const drain = step.state.host(name)?.spec.drain;
    if (drain === undefined || step.first) return [];
    return vmChangesOn(step, name).flatMap(({ before, after }): readonly Finding[] => {
      if (after?.spec.hostName !== name || before?.spec.hostName === name) return [];
      if (guestBefore(step, name, after) !== undefined) return [];
      const message = `${vmName(after)} is bound to host ${name}, which is drained (${drain.mode})`;
      return [{ key: after.metadata.uid, message, objects: [`host/${name}`, vmName(after)] }];
    });
  },
};

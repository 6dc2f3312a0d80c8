import { VMS, VOLUMES } from '../guards/refs.ts';
import { splitKey } from '../meta/object.ts';
import { vmName } from './guest-facts.ts';
import type { Invariant } from './invariant.ts';
import { changeOf, changesOf } from './step-changes.ts';
import { isDataLost, usesVolumes, volumesNamed } from './volume-facts.ts';

/** One VM at a time: two guests that write to one disk destroy what is on it. */
export const oneVMPerVolume: Invariant = {
  name: 'one-vm-per-volume',
  sentence: 'A volume is that of one VM at most, and stays while that VM does.',

  *subjects(step) {
    for (const { before, after } of changesOf(step, VMS)) {
      for (const vm of [before, after])
        for (const name of vm === undefined ? [] : volumesNamed(vm)) yield `${vm?.metadata.namespace}/${name}`;
    }
    for (const { key } of changesOf(step, VOLUMES)) yield key;
  },

  findings(key, step) {
    const { state } = step;
    const { namespace = '', name } = splitKey(key);
    const users = state.vmsOf(namespace).filter((vm) => usesVolumes(vm) && volumesNamed(vm).includes(name));
    const names = users.map(vmName).sort();
    const objects = [`volume/${key}`, ...names];
    const found =
      users.length < 2 ? [] : [{ key: 'shared', message: `volume/${key} is that of ${names.join(' and ')}`, objects }];
    const { before, after } = changeOf(step, VOLUMES, key) ?? {};
    const [user] = users.filter((vm) => vm.spec.hostName !== undefined);
    if (user === undefined || before === undefined) return found;
    const was = before.metadata.deletionTimestamp === undefined && !isDataLost(before);
    if (was && after?.metadata.deletionTimestamp !== undefined)
      return [...found, { key: 'deleted', message: `volume/${key} is deleted under ${vmName(user)}`, objects }];
    const hostStays = state.host(before.spec.hostName ?? '')?.metadata.uid === before.status?.hostUID;
    if (was && hostStays && after !== undefined && isDataLost(after))
      return [...found, { key: 'lost', message: `volume/${key} is given up under ${vmName(user)}`, objects }];
    return found;
  },
};

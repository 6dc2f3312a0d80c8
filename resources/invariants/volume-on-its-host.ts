import { VMS, VOLUMES } from '../guards/refs.ts';
import type { Volume } from '../kinds/volume.ts';
import { vmName } from './guest-facts.ts';
import type { Finding, Invariant, Step } from './invariant.ts';
import { changeOf, changesOf } from './step-changes.ts';
import { isDataLost, nameOfVolume, volumesNamed } from './volume-facts.ts';

/** A file does not move. A VM is bound to where its volumes lie, and never while one is stranded or lost. */
export const volumeOnItsHost: Invariant = {
  name: 'volume-on-its-host',
  sentence: 'A volume lies on one host for good, VMs are bound where their volumes lie, and what is lost stays lost.',

  *subjects(step) {
    for (const { key } of changesOf(step, VMS)) yield `vm ${key}`;
    for (const { key } of changesOf(step, VOLUMES)) yield `volume ${key}`;
  },

  findings(subject, step) {
    const key = subject.slice(subject.indexOf(' ') + 1);
    return subject.startsWith('vm ') ? bound(key, step) : moved(key, step);
  },
};

function bound(key: string, step: Step): readonly Finding[] {
  const change = changeOf(step, VMS, key);
  const vm = change?.after;
  const host = vm?.spec.hostName;
  if (step.first || vm === undefined || host === undefined || host === change?.before?.spec.hostName) return [];
  return volumesNamed(vm).flatMap((name) => {
    const volume = step.state.volume(`${vm.metadata.namespace}/${name}`);
    const why = unfit(volume, host, step);
    return why === undefined
      ? []
      : [
          {
            key: name,
            message: `${vmName(vm)} was bound to host ${host}, and its volume ${name} ${why}`,
            objects: [vmName(vm)],
          },
        ];
  });
}

function unfit(volume: Volume | undefined, host: string, { state }: Step): string | undefined {
  if (volume === undefined) return 'is not there';
  if (volume.spec.hostName !== host) return `lies on ${volume.spec.hostName ?? 'no host'}`;
  if (volume.status?.hostUID !== state.host(host)?.metadata.uid) return 'lay on another host of that name';
  const { phase } = volume.status ?? {};
  return phase === 'Stranded' || phase === 'Lost' ? `is ${phase}` : undefined;
}

function moved(key: string, step: Step): readonly Finding[] {
  const { before, after } = changeOf(step, VOLUMES, key) ?? {};
  if (before === undefined || after === undefined || before.metadata.uid !== after.metadata.uid) return [];
  const found = (what: string, message: string): Finding => ({
    key: what,
    message: `${nameOfVolume(after)} ${message}`,
    objects: [nameOfVolume(after)],
  });
  const [from, to] = [before.spec.hostName, after.spec.hostName];
  const [was, is] = [before.status?.id, after.status?.id];
  return [
    ...(from !== undefined && from !== to ? [found('moved', `moved from host ${from} to ${to ?? 'none'}`)] : []),
    ...(was !== undefined && was !== is ? [found('id', `had id ${was}, and has ${is ?? 'none'}`)] : []),
    ...(isDataLost(before) && !isDataLost(after) ? [found('found', 'was lost, and is not any more')] : []),
  ];
}

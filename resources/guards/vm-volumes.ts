import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { matchesLabels } from '../meta/selector.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { HOSTS, IMAGES, VOLUMES } from './refs.ts';
import { holderNamed, isStrandedOn, liesOn, notReady, orphanHolder, volumesOf } from './volume-facts.ts';
import { attachesVolumes } from './volume-host.ts';
import type { WorldView } from './world.ts';

/** What of a VM's volumes turns a host down. */
export type VolumesFilter = 'VolumeNotFound' | 'VolumeNotReady' | 'VolumeElsewhere' | 'VolumesUnsupported';

interface VolumesRefusal {
  readonly filter: VolumesFilter;
  readonly message: string;
}

/** Why a VM waits for its volumes, whatever host it looks at. Undefined: they are there, and nobody else's. */
export function volumesWait(vm: VM, world: WorldView): VolumesRefusal | undefined {
  const { namespace = '' } = vm.metadata;
  for (const name of volumesOf(vm)) {
    const volume = world.get(VOLUMES, namespace, name);
    if (volume === undefined) {
      const message = `no Volume is named ${name} in ${namespace}; the VM waits for it`;
      return { filter: 'VolumeNotFound', message };
    }
    const message = notReady(volume) ?? strandedText(volume, world);
    if (message !== undefined) return { filter: 'VolumeNotReady', message };
  }
  return undefined;
}

function strandedText(volume: Volume, world: WorldView): string | undefined {
  const { name } = volume.metadata;
  const host = world.get(HOSTS, undefined, volume.spec.hostName ?? '');
  if (host === undefined || !liesOn(volume, host)) return `host ${volume.spec.hostName} of volume ${name} is gone`;
  return isStrandedOn(volume, host, world)
    ? `volume ${name} is stranded on host ${host.metadata.name}, which ${volume.metadata.namespace} does not lease`
    : undefined;
}

/** Why a VM cannot run on a host for its volumes' sake. */
export function volumesRefusal(vm: VM, guestOS: string, host: Host, world: WorldView): VolumesRefusal | undefined {
  // Asked of every host for every VM that waits.
  if (vm.spec.volumes === undefined || vm.spec.volumes.length === 0) return undefined;
  const names = volumesOf(vm);
  const waits = volumesWait(vm, world);
  if (waits !== undefined) return waits;
  for (const name of names) {
    const where = world.get(VOLUMES, vm.metadata.namespace, name)?.spec.hostName;
    if (where !== host.metadata.name)
      return {
        filter: 'VolumeElsewhere',
        message: `volume ${name} lies on host ${where}, not on ${host.metadata.name}`,
      };
  }
  if (guestOS !== 'linux') return { filter: 'VolumesUnsupported', message: `${guestOS} guests have no volumes` };
  if (attachesVolumes(host)) return undefined;
  return { filter: 'VolumesUnsupported', message: `the driver of host ${host.metadata.name} attaches no volumes` };
}

/**
 * One VM at a time has a volume, and it has it from the moment it names it. What cannot come true is refused before anything is made: volumes of a macOS guest, volumes that
 * another VM has, on two hosts, or on one that the VM does not take. One that is not there yet is waited for.
 */
export const vmVolumes: Guard<VM> = {
  name: 'vm-volumes',
  fences: (change) =>
    comes(change) ? { bump: [fence.tenant(change.after?.metadata.namespace ?? '')], compare: [] } : NO_FENCES,
  judge(change, world) {
    const { after } = change;
    if (after === undefined || !comes(change)) return undefined;
    return wrongGuest(after, world) ?? inUse(after, world) ?? apart(after, world);
  },
};

/** Whether the change makes a VM that names volumes. They stay as they are from then on. */
function comes({ before, after }: Change<VM>): boolean {
  return before === undefined && after !== undefined && volumesOf(after).length > 0;
}

function wrongGuest(vm: VM, world: WorldView): Refusal | undefined {
  const guestOS = vm.spec.resolved?.guestOS ?? world.get(IMAGES, undefined, vm.spec.image)?.spec.guestOS ?? 'linux';
  if (guestOS === 'linux') return undefined;
  const message = `Forbidden: image ${vm.spec.image} is of ${guestOS}, and only Linux guests have volumes`;
  return { answer: 'Invalid', field: 'spec.volumes', cause: 'FieldValueForbidden', message };
}

function inUse(vm: VM, world: WorldView): Refusal | undefined {
  const { namespace = '' } = vm.metadata;
  for (const name of volumesOf(vm)) {
    const holder = holderNamed(namespace, name, world)?.metadata.name ?? orphanOf(namespace, name, world);
    if (holder === undefined) continue;
    const message = `volume ${name} is in use: it is attached to VM ${holder}, and one VM at a time has it`;
    return { answer: 'Forbidden', cause: 'VolumeInUse', message };
  }
  return undefined;
}

function orphanOf(namespace: string, name: string, world: WorldView): string | undefined {
  const volume = world.get(VOLUMES, namespace, name);
  return volume && orphanHolder(volume, world.get(HOSTS, undefined, volume.spec.hostName ?? ''));
}

/** Volumes that are on hosts already pin the VM there. */
function apart(vm: VM, world: WorldView): Refusal | undefined {
  const refuse = (message: string): Refusal => ({ answer: 'Forbidden', cause: 'VolumeElsewhere', message });
  let first: { readonly name: string; readonly host: string } | undefined;
  for (const name of volumesOf(vm)) {
    const hostName = world.get(VOLUMES, vm.metadata.namespace, name)?.spec.hostName;
    if (hostName === undefined) continue;
    if (first !== undefined && first.host !== hostName)
      return refuse(`volume ${first.name} lies on host ${first.host} and volume ${name} on host ${hostName}`);
    first ??= { name, host: hostName };
    if (vm.spec.hostName !== undefined && vm.spec.hostName !== hostName)
      return refuse(`volume ${name} lies on host ${hostName}, and the VM is to run on ${vm.spec.hostName}`);
    const labels = world.get(HOSTS, undefined, hostName)?.metadata.labels ?? {};
    if (vm.spec.hostSelector !== undefined && !matchesLabels(vm.spec.hostSelector, labels))
      return refuse(`volume ${name} lies on host ${hostName}, which does not match spec.hostSelector`);
  }
  return undefined;
}

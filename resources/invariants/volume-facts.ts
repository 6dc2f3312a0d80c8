import { isLost } from '../guards/host-lost.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { isGone } from './guest-facts.ts';

/** How violations name it. */
export function nameOfVolume({ metadata }: Volume): string {
  return `volume/${metadata.namespace}/${metadata.name}`;
}

/** The names of the volumes a VM says are its own. */
export function volumesNamed(vm: VM): readonly string[] {
  return vm.spec.volumes?.map(({ name }) => name) ?? [];
}

/** Whether something of the VM's guest is there, or may come to be: then its volumes are in use. */
export function usesVolumes(vm: VM): boolean {
  const leaves = vm.metadata.deletionTimestamp !== undefined;
  if (isLost(vm) || volumesNamed(vm).length === 0) return false;
  return !(leaves && (isGone(vm) || vm.spec.hostName === undefined));
}

/** Its data is gone for good. */
export function isDataLost({ status }: Volume): boolean {
  return status?.phase === 'Lost';
}

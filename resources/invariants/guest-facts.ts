import type { VM } from '../kinds/vm.ts';

/** The guest that a VM says is its own. */
export function guestOf(vm: VM): string {
  return vm.spec.guestID ?? vm.metadata.uid;
}

/** Nothing is left of the guest. */
export function isGone(vm: VM): boolean {
  return vm.status?.guest?.power === 'Gone';
}

/** The guest has processors and memory of its host, whatever was asked of it. */
export function isOn(vm: VM): boolean {
  const power = vm.status?.guest?.power;
  return power !== undefined && power !== 'Off' && power !== 'Gone';
}

/** Its host has told of a guest, and not that it is gone. */
export function mayHaveGuest(vm: VM): boolean {
  return vm.spec.hostName !== undefined && vm.status?.guest !== undefined && !isGone(vm);
}

/** Bound to a host, and something of it is there, or may come to be there at any moment. */
export function isThere(vm: VM): boolean {
  return vm.spec.hostName !== undefined && !isGone(vm);
}

/** How violations name it. */
export function vmName({ metadata }: VM): string {
  return `vm/${metadata.namespace}/${metadata.name}`;
}

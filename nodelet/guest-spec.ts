import type { VM } from '../resources/kinds/vm.ts';
import { parseBytes } from '../resources/meta/quantity.ts';
import type { GuestSpec } from './drivers/driver.ts';
import { epochOf, guestIDOf } from './plan.ts';

/** Whose guest it is made as. */
export function labelOf(vm: VM): string {
  return `${vm.metadata.namespace ?? ''}/${nameOf(vm)}`;
}

/** What stands in for another VM makes the guest of that one, called like it from the start. */
function nameOf({ metadata, spec }: VM): string {
  return (spec.standsInFor ?? metadata).name;
}

/** What a driver is to make for a VM that was admitted; `path` is where its image lies, `volumes` the ids of its volumes. */
export function guestSpec(
  vm: VM,
  resolved: NonNullable<VM['spec']['resolved']>,
  path: string,
  volumes: readonly string[] = [],
): GuestSpec {
  return {
    id: guestIDOf(vm),
    label: labelOf(vm),
    hostname: nameOf(vm),
    guestOS: resolved.guestOS,
    image: { path, digest: resolved.digest },
    vcpus: resolved.vcpus,
    memoryBytes: parseBytes(resolved.memory) ?? 0,
    diskBytes: parseBytes(resolved.disk ?? '0') ?? 0,
    ...(volumes.length === 0 ? {} : { volumes }),
    epoch: epochOf(vm),
  };
}

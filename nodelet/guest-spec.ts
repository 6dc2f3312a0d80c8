import type { VM } from '../resources/kinds/vm.ts';
import { parseBytes } from '../resources/meta/quantity.ts';
import type { GuestSpec } from './drivers/driver.ts';
import { epochOf, guestIDOf } from './plan.ts';

/** What a driver is to make for a VM that was admitted; `path` is where its image lies, `volumes` the ids of its volumes. */
export function guestSpec(
  vm: VM,
  resolved: NonNullable<VM['spec']['resolved']>,
  path: string,
  volumes: readonly string[] = [],
): GuestSpec {
  const { namespace } = vm.metadata;
  // Its guest is to be that of the VM it stands in for, and called like it from the start.
  const { name } = vm.spec.standsInFor ?? vm.metadata;
  return {
    id: guestIDOf(vm),
    label: `${namespace ?? ''}/${name}`,
    hostname: name,
    guestOS: resolved.guestOS,
    image: { path, digest: resolved.digest },
    vcpus: resolved.vcpus,
    memoryBytes: parseBytes(resolved.memory) ?? 0,
    diskBytes: parseBytes(resolved.disk ?? '0') ?? 0,
    ...(volumes.length === 0 ? {} : { volumes }),
    epoch: epochOf(vm),
  };
}

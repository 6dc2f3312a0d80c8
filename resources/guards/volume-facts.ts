import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { findCondition, isTrue } from '../meta/condition.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { waitsForScrub } from './host-scrub.ts';
import { isLessee } from './lessee.ts';
import { POLICIES, VMS } from './refs.ts';
import { holdsNothing } from './vms-using.ts';
import type { WorldView } from './world.ts';

const MEBIBYTE = 1024 ** 2;

/** How large a volume is meant to be, in bytes. */
export function volumeBytes({ spec }: Volume): number {
  return parseBytes(spec.size) ?? 0;
}

/** How large its file is to be, in bytes: disks are made of whole mebibytes. */
export function fileBytes(volume: Volume): number {
  return Math.ceil(volumeBytes(volume) / MEBIBYTE) * MEBIBYTE;
}

/** Its data is gone for good. It holds nothing any more, and can be deleted. */
export function isVolumeLost({ status }: Volume): boolean {
  return status?.phase === 'Lost';
}

/** Whether the volume lies on this very Host, and not on one of its name that was given up. */
export function liesOn({ spec, status }: Volume, { metadata }: Host): boolean {
  return spec.hostName === metadata.name && status?.hostUID === metadata.uid;
}

/**
 * Whether nobody may have the volume because of whose its host is: the host waits for a scrub, or is another tenant's. One that is leased by the owner of the
 * volume is not.
 */
export function isStrandedOn(volume: Volume, host: Host, world: WorldView): boolean {
  if (isLessee(host, volume.metadata.namespace ?? '', world)) return false;
  if (waitsForScrub(host)) return true;
  const exclusive = world.get(POLICIES, undefined, 'default')?.spec.exclusiveLeasedHosts !== false;
  return host.status?.lease !== undefined && exclusive;
}

/** The names of the volumes a VM has. */
export function volumesOf({ spec }: VM): readonly string[] {
  return spec.volumes?.map(({ name }) => name) ?? [];
}

/** The VM that has a volume, running or not: one that names it and of whose guest something may be left. Undefined: no VM has it. */
export function holderOf(volume: Volume, world: WorldView): VM | undefined {
  const { namespace, name } = volume.metadata;
  return holderNamed(namespace ?? '', name, world);
}

/** The same of a volume by its name, which need not be there. */
export function holderNamed(namespace: string, name: string, world: WorldView): VM | undefined {
  for (const vm of world.list(VMS, namespace)) if (volumesOf(vm).includes(name) && !hasNoGuest(vm)) return vm;
  return undefined;
}

/** One that goes and was never bound had none. */
function hasNoGuest(vm: VM): boolean {
  return holdsNothing(vm) || (vm.spec.hostName === undefined && vm.metadata.deletionTimestamp !== undefined);
}

/** A guest that has the volume though its VM object is gone: told by its host as one that nobody names. */
export function orphanHolder({ metadata, status }: Volume, host: Host | undefined): string | undefined {
  const label = `${metadata.namespace}/${status?.attachedTo}`;
  return status?.attachedTo !== undefined && host?.status?.orphans?.some((orphan) => orphan.label === label)
    ? label
    : undefined;
}

/** Why no VM can have the volume now, whatever its host has room for: one line. Undefined: it is there, whole. */
export function notReady(volume: Volume): string | undefined {
  const { metadata, spec, status } = volume;
  const { name } = metadata;
  if (isVolumeLost(volume)) return `volume ${name} is lost: its data went at ${status?.lostAt} (${status?.lostBy})`;
  if (metadata.deletionTimestamp !== undefined) return `volume ${name} is being deleted`;
  const ready = findCondition(volume, 'Ready');
  if (spec.hostName === undefined)
    return `volume ${name} has no host yet${ready === undefined ? '' : `: ${ready.message}`}`;
  const file = findCondition(volume, 'FileReady');
  if (file !== undefined && file.status !== 'True') return `volume ${name}: ${file.message}`;
  const is = parseBytes(status?.size ?? '0') ?? 0;
  if (!isTrue(volume, 'FileReady') || is === 0)
    return `the file of volume ${name} is being made on host ${spec.hostName}`;
  if (is < fileBytes(volume))
    return `volume ${name} grows from ${roughBytes(is)} to ${roughBytes(volumeBytes(volume))}`;
  return undefined;
}

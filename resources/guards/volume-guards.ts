import type { Host } from '../kinds/host.ts';
import type { Volume } from '../kinds/volume.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { immutable } from './immutable.ts';
import { HOSTS, TENANTS, VOLUMES } from './refs.ts';
import { holderOf, isVolumeLost, liesOn, orphanHolder } from './volume-facts.ts';
import type { WorldView } from './world.ts';

const LONGEST_NAME = 40;

/** Names are short: they stand in serials, tables and file names of people. */
export const volumeName: Guard<Volume> = {
  name: 'volume-name',
  fences: () => NO_FENCES,
  judge({ before, after }) {
    const name = after?.metadata.name ?? '';
    if (before !== undefined || name.length <= LONGEST_NAME) return undefined;
    const message = `Invalid value: "${name}": must be no more than ${LONGEST_NAME} characters`;
    return { answer: 'Invalid', field: 'metadata.name', cause: 'FieldValueInvalid', message };
  },
};

const HOST = immutable<Volume>('spec.hostName');

/** Data does not move from host to host. */
export const volumeMoves: Guard<Volume> = {
  name: 'volume-moves',
  fences: () => NO_FENCES,
  judge: (change, world, context) =>
    change.before?.spec.hostName === undefined ? undefined : HOST.judge(change, world, context),
};

/** No two volumes have one id: it is the name of the file, and the serial in the guest. */
export const volumeID: Guard<Volume> = {
  name: 'volume-id',
  fences: (change) => {
    const id = idGiven(change);
    return id === undefined ? NO_FENCES : { bump: [fence.unique(`volume/${id}`)], compare: [] };
  },
  judge(change, world) {
    const id = idGiven(change);
    if (id === undefined) return undefined;
    for (const other of world.list(VOLUMES)) {
      if (other.metadata.uid === change.after?.metadata.uid || other.status?.id !== id) continue;
      return forbidden('IDTaken', `volume ${other.metadata.namespace}/${other.metadata.name} has id ${id}`);
    }
    return undefined;
  },
};

function idGiven({ before, after }: Change<Volume>): string | undefined {
  return before?.status?.id === undefined ? after?.status?.id : undefined;
}

const FACTS = [immutable<Volume>('status.id'), immutable<Volume>('status.hostUID')] as const;
const LOSS = immutable<Volume>('status.phase', 'status.lostAt', 'status.lostBy');

/** What a volume is called and where it lies stays so, and what is lost stays lost. */
export const volumeRecord: Guard<Volume> = {
  name: 'volume-record',
  fences: () => NO_FENCES,
  judge(change, world, context) {
    const { before } = change;
    if (before === undefined) return undefined;
    const guards = [
      ...(before.status?.id === undefined ? [] : [FACTS[0]]),
      ...(before.status?.hostUID === undefined ? [] : [FACTS[1]]),
      ...(isVolumeLost(before) ? [LOSS] : []),
    ];
    for (const guard of guards) {
      const refusal = guard.judge(change, world, context);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  },
};

/** Data is given up only with its host, to a scrub that waits for it, or with a tenant that an operator deletes by force: or where an operator says so. */
export const volumeLoss: Guard<Volume> = {
  name: 'volume-loss',
  fences: (change) => (loses(change) ? { bump: hostFence(change.before), compare: [] } : NO_FENCES),
  judge(change, world, { asker }) {
    const { before } = change;
    if (before === undefined || !loses(change) || asker.operator) return undefined;
    const host = world.get(HOSTS, undefined, before.spec.hostName ?? '');
    if (before.spec.hostName !== undefined && (host === undefined || !liesOn(before, host))) return undefined;
    const holder = holderOf(before, world)?.metadata.name ?? orphanHolder(before, host);
    if (holder !== undefined) return forbidden('VolumeInUse', `it is attached to VM ${holder}`);
    if (isForcedAway(before, world) || (host !== undefined && isTaken(before, host))) return undefined;
    return forbidden('NotLost', 'its data is there, and nobody asked for it to be given up');
  },
};

/** Whether an operator deletes the volume's tenant by force. */
export function isForcedAway({ metadata }: Volume, world: WorldView): boolean {
  const tenant = world.get(TENANTS, undefined, metadata.namespace ?? '');
  return tenant?.metadata.deletionTimestamp !== undefined && tenant.spec.forceDelete !== undefined;
}

/** Whether a scrub of the volume's host waits for it to be given up. The owner that leases the host again keeps it. */
export function isTaken({ metadata }: Volume, { status }: Host): boolean {
  return (
    status?.scrub?.outcome === 'Waiting' &&
    status.scrub.takesVolumes === true &&
    status.lease?.namespace !== metadata.namespace
  );
}

function loses({ before, after }: Change<Volume>): boolean {
  return before !== undefined && after !== undefined && isVolumeLost(after) && !isVolumeLost(before);
}

/** A volume that a VM has stays; it may be deleted once that VM is, and its guest gone. */
export const volumeRemoval: Guard<Volume> = {
  name: 'volume-removal',
  fences: (change) =>
    ends(change)
      ? { bump: [fence.tenant(change.before?.metadata.namespace ?? ''), ...hostFence(change.before)], compare: [] }
      : NO_FENCES,
  judge(change, world) {
    const { before } = change;
    if (before === undefined || !ends(change)) return undefined;
    const host = world.get(HOSTS, undefined, before.spec.hostName ?? '');
    const orphan = orphanHolder(before, host);
    if (orphan !== undefined)
      return forbidden(
        'VolumeInUse',
        `it is attached to guest ${orphan} of host ${host?.metadata.name}, whose VM is gone`,
      );
    const holder = holderOf(before, world)?.metadata.name;
    if (holder === undefined) return undefined;
    return forbidden('VolumeInUse', `it is attached to VM ${holder}; delete that VM first`);
  },
};

/** Whether the object is deleted by the change, or begins to be. */
function ends({ before, after }: Change<Volume>): boolean {
  if (before === undefined || before.metadata.deletionTimestamp !== undefined) return false;
  return after === undefined || after.metadata.deletionTimestamp !== undefined;
}

/** What is bound to its host is judged by whether it is there. */
function hostFence(volume: Volume | undefined): readonly string[] {
  return volume?.spec.hostName === undefined ? [] : [fence.host(volume.spec.hostName)];
}

function forbidden(cause: string, message: string): Refusal {
  return { answer: 'Forbidden', cause, message };
}

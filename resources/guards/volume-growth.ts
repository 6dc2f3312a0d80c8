import type { Host } from '../kinds/host.ts';
import type { Volume } from '../kinds/volume.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { HOSTS } from './refs.ts';
import { holderOf, isStrandedOn, isVolumeLost, liesOn, orphanHolder, volumeBytes } from './volume-facts.ts';
import { diskRefusal } from './volume-host.ts';
import type { WorldView } from './world.ts';

/** A volume grows only, while no VM has it, and where its host has the disk for it. */
export const volumeGrowth: Guard<Volume> = {
  name: 'volume-growth',
  fences(change) {
    const { before, after } = change;
    if (before === undefined || after === undefined || !resizes(change)) return NO_FENCES;
    const { namespace = '' } = after.metadata;
    const host = before.spec.hostName;
    // By the first, no VM comes to name it meanwhile; by the second, nothing else takes the disk.
    return { bump: [fence.tenant(namespace), ...(host === undefined ? [] : [fence.host(host)])], compare: [] };
  },
  judge(change, world) {
    const { before, after } = change;
    if (before === undefined || after === undefined || !resizes(change)) return undefined;
    const [has, wants] = [before.spec.size, after.spec.size];
    // Said before that it does not shrink: for no size would it come back.
    if (isVolumeLost(before)) return forbidden('VolumeLost', lostText(before));
    if (volumeBytes(after) < volumeBytes(before))
      return forbidden('VolumeShrinks', `it has ${has} and ${wants} was asked for: volumes only grow`);
    const host = hostOf(before, world);
    const holder = holderOf(before, world)?.metadata.name ?? orphanHolder(before, host);
    if (holder !== undefined) {
      const message = `it is attached to VM ${holder}; it can be resized from ${has} to ${wants} once that VM is deleted`;
      return forbidden('VolumeInUse', message);
    }
    if (host === undefined) return undefined;
    if (isStrandedOn(before, host, world))
      return forbidden(
        'VolumeStranded',
        `it is stranded on host ${host.metadata.name}, which its tenant does not lease`,
      );
    return diskRefusal(after, host, world);
  },
};

/** Whether it comes to another size: the same in other words is none. */
function resizes({ before, after }: Change<Volume>): boolean {
  return before !== undefined && after !== undefined && volumeBytes(before) !== volumeBytes(after);
}

function lostText({ status }: Volume): string {
  const { lostAt, lostBy } = status ?? {};
  return `its data is lost since ${lostAt}${lostBy === undefined ? '' : `, with ${lostBy}`}; delete it, and make it anew`;
}

function hostOf(volume: Volume, world: WorldView): Host | undefined {
  const host = world.get(HOSTS, undefined, volume.spec.hostName ?? '');
  return host !== undefined && liesOn(volume, host) ? host : undefined;
}

function forbidden(cause: string, message: string): Refusal {
  return { answer: 'Forbidden', cause, message };
}

import type { Volume } from '../kinds/volume.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { TENANTS, VOLUMES } from './refs.ts';
import { quotaOf } from './tenant-guard.ts';
import { isVolumeLost, volumeBytes } from './volume-facts.ts';
import type { WorldView } from './world.ts';

/**
 * How much its volumes may come to together: judged when a Volume is made or grows, by all of the tenant's that are not lost; and again when one is given a host, by those that
 * have one. So what was made before the tenant was holds nothing, and is admitted by the quota one after the other when the tenant is there.
 */
export const volumeQuota = {
  name: 'volume-quota',
  fences(change) {
    const { namespace = '' } = (change.after ?? change.before)?.metadata ?? {};
    return takes(change) ? { bump: [fence.tenant(namespace)], compare: [fence.policy] } : NO_FENCES;
  },
  judge(change, world) {
    const { before, after } = change;
    if (after === undefined || !takes(change)) return undefined;
    const { namespace = '' } = after.metadata;
    const tenant = world.get(TENANTS, undefined, namespace);
    // It waits for its tenant, whose quota it is judged by then.
    if (tenant === undefined) return undefined;
    const { maxVolumeSize } = quotaOf(tenant, world);
    const max = maxVolumeSize === undefined ? undefined : parseBytes(maxVolumeSize);
    if (max === undefined) return undefined;
    const counts = binds(change) ? isBound : () => true;
    const used = usedBytes(namespace, world, counts);
    const had = before !== undefined && counts(before) ? volumeBytes(before) : 0;
    const wants = volumeBytes(after);
    return used - had + wants <= max ? undefined : exceeded(wants - had, used, max);
  },
} satisfies Guard<Volume>;

function exceeded(requested: number, used: number, max: number): Refusal {
  const numbers = `requested ${roughBytes(requested)}, used ${roughBytes(used)}, limited ${roughBytes(max)}`;
  return { answer: 'Forbidden', cause: 'QuotaExceeded', message: `exceeded quota: maxVolumeSize: ${numbers}` };
}

/** The sizes of a tenant's volumes together, in bytes. */
function usedBytes(namespace: string, world: WorldView, counts: (volume: Volume) => boolean): number {
  let bytes = 0;
  for (const volume of world.list(VOLUMES, namespace))
    if (!isVolumeLost(volume) && counts(volume)) bytes += volumeBytes(volume);
  return bytes;
}

const isBound = ({ spec }: Volume): boolean => spec.hostName !== undefined;

/** Whether the change gives a volume its host. */
function binds({ before, after }: Change<Volume>): boolean {
  return before !== undefined && !isBound(before) && after !== undefined && isBound(after);
}

/** Whether the tenant comes to hold more by the change. */
function takes(change: Change<Volume>): boolean {
  const { before, after } = change;
  if (after === undefined || isVolumeLost(after)) return false;
  return before === undefined || binds(change) || volumeBytes(after) > volumeBytes(before);
}

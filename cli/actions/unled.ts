import { type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { ALL_DUTIES, DUTY_PREFIX, MEMBER_PREFIX } from '../../resources/streams/election-leases.ts';
import type { Trouble } from './attention.ts';

/** A process renews its Lease every other second. The rest is for clocks that differ. */
const DEAD_MS = 30_000;

/** The duties that no living process leads, as the coordination Leases of the election tell. */
export function unledIn(leases: readonly KubeObject[], nowMs: number): Trouble[] {
  const byName = new Map(leases.map((lease) => [lease.metadata.name, lease]));
  const unled = ALL_DUTIES.filter((duty) => {
    const holder = valueAt(byName.get(DUTY_PREFIX + duty), ['spec', 'holderIdentity']);
    const member = byName.get(String(holder ?? ''));
    return member === undefined || !isAlive(member, nowMs);
  });
  if (unled.length === 0) return [];
  const message = `no controllers lead ${unled.join(', ')}: start "coppice controllers"`;
  return [{ object: 'controllers', reason: 'NotLed', message }];
}

/** One without a duration, an `up` with a store of its own, lives as long as its server. */
function isAlive({ metadata, spec }: KubeObject & { spec?: unknown }, nowMs: number): boolean {
  if (!metadata.name.startsWith(MEMBER_PREFIX)) return false;
  if (valueAt(spec, ['leaseDurationSeconds']) === undefined) return true;
  return nowMs - Date.parse(String(valueAt(spec, ['renewTime']))) < DEAD_MS;
}

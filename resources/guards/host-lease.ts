import type { Host } from '../kinds/host.ts';
import { firstOf } from '../meta/first-of.ts';
import { type Change, fence, type Guard, NO_FENCES } from './guard.ts';
import { POLICIES } from './refs.ts';

const NAMES_SHOWN = 3;

/** A host is leased to one tenant while it has guests of no other: what is bound later is refused for the lease (`hostRefusal`), by the same fence. */
export const hostLease: Guard<Host> = {
  name: 'host-lease',
  fences(change) {
    const lessee = lesseeBy(change);
    if (lessee === undefined) return NO_FENCES;
    // It counts in the lessee's quota from then on.
    return { bump: [fence.host(change.after?.metadata.name ?? ''), fence.tenant(lessee)], compare: [fence.policy] };
  },
  judge(change, world) {
    const lessee = lesseeBy(change);
    if (lessee === undefined) return undefined;
    if (world.get(POLICIES, undefined, 'default')?.spec.exclusiveLeasedHosts === false) return undefined;
    const name = change.after?.metadata.name ?? '';
    const others = [...world.hostUse(name).namespaces].filter((namespace) => namespace !== lessee).sort();
    if (others.length === 0) return undefined;
    const message = `it has guests of ${firstOf(others, NAMES_SHOWN)}; it is leased to ${lessee} once they are gone`;
    return { answer: 'Forbidden', cause: 'GuestsOfOthers', message };
  },
};

/** The tenant that a change makes the lessee. */
function lesseeBy({ before, after }: Change<Host>): string | undefined {
  const lessee = after?.status?.lease?.namespace;
  return lessee === before?.status?.lease?.namespace ? undefined : lessee;
}

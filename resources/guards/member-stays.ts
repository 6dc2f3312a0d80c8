import type { VM } from '../kinds/vm.ts';
import { type Guard, NO_FENCES } from './guard.ts';
import { poolRefOf } from './pool-members.ts';

/** What every object may get while it is deleted, by how its dependents are to go. */
const CASCADES: readonly string[] = ['orphan', 'foregroundDeletion'];

/**
 * Members of pools make room in the quota for VMs, so they must be fit to be taken, and to go: nobody has them leave their pool, and none but operators holds
 * them by finalizers.
 */
export const memberStays: Guard<VM> = {
  name: 'member-stays',
  fences: () => NO_FENCES,
  judge({ before, after }, _world, { asker }) {
    if (before?.spec.claimable !== true || after?.spec.claimable !== true) return undefined;
    const pool = poolRefOf(before);
    if (pool !== undefined && poolRefOf(after)?.uid !== pool.uid) {
      const message = `it is a member of pool ${pool.name}, which stays in metadata.ownerReferences`;
      return { answer: 'Forbidden', cause: 'PoolMember', message };
    }
    const had = before.metadata.finalizers ?? [];
    const added = after.metadata.finalizers?.find((one) => !had.includes(one) && !CASCADES.includes(one));
    if (added === undefined || asker.operator) return undefined;
    const message = `finalizer ${added} would hold a member of a pool, which is there to be taken or to go`;
    return { answer: 'Forbidden', cause: 'PoolMember', message };
  },
};

import { rfc3339 } from '../ambient/clock.ts';
import type { Pool } from '../kinds/pool.ts';
import type { VM } from '../kinds/vm.ts';
import type { AdmissionContext, CompanionWrite } from '../meta/define-kind.ts';
import { isIdle, matchRefusal, poolOf, wantsWarmGuest } from './pool-members.ts';
import { VMS } from './refs.ts';
import type { WorldView } from './world.ts';

const VM_REF = { group: 'coppice.dev', version: 'v1', plural: 'vms', kind: 'VM', namespaced: true } as const;
const POOL_REF = { group: 'coppice.dev', version: 'v1', plural: 'pools', kind: 'Pool', namespaced: true } as const;

/** The VMs that name the same guest as one does, without it. */
export function othersOfGuest({ metadata, spec }: VM, world: WorldView): readonly VM[] {
  return [...world.list(VMS)].filter(
    (other) => other.metadata.uid !== metadata.uid && other.spec.guestID === spec.guestID,
  );
}

/** Whether a write makes a VM name another guest than it did. */
export function takesGuest(after: VM, before: VM | undefined): before is VM {
  return (
    before !== undefined && before.spec.guestID !== after.spec.guestID && after.spec.guestID !== after.metadata.uid
  );
}

/** Why a VM that is to be bound may not take the guest of a member; undefined: it may. Whether the host takes it is not asked here. */
export function claimRefusal(taker: VM, member: VM, world: WorldView): string | undefined {
  if (!wantsWarmGuest(taker)) return 'only a VM that is to run, has no host yet and no volumes takes a guest of a pool';
  if (!isIdle(member)) return 'it is not idle';
  return matchRefusal(taker, member, world);
}

/**
 * The member that a write takes the guest of. In the same transaction it goes, so that at no moment two VMs name one guest, nor none does, and a guest that was in use
 * is never idle again. Its nodelet finds the guest it has named by another.
 */
export function claimCompanions(
  after: VM | undefined,
  before: VM | undefined,
  { world }: AdmissionContext,
): readonly CompanionWrite[] {
  if (after === undefined || !takesGuest(after, before)) return [];
  const [member] = othersOfGuest(after, world);
  if (member?.spec.claimable !== true) return [];
  const { name, namespace = '' } = member.metadata;
  const pool = poolOf(member, world);
  return [
    { resource: VM_REF, namespace, name, object: undefined },
    ...(pool === undefined
      ? []
      : [{ resource: POOL_REF, namespace, name: pool.metadata.name, object: withClaim(pool) }]),
  ];
}

/** Counted in the same transaction: no claim is missed, none counts twice, and what is taken is not said to be there. */
function withClaim(pool: Pool): Pool {
  const { claimed = 0, ready, replicas } = pool.status ?? {};
  const one = (count: number | undefined) => (count === undefined ? undefined : Math.max(0, count - 1));
  const [left, there] = [one(ready), one(replicas)];
  const counts = {
    ...(left === undefined ? {} : { ready: left }),
    ...(there === undefined ? {} : { replicas: there }),
  };
  return { ...pool, status: { ...pool.status, ...counts, claimed: claimed + 1 } };
}

/** What is kept of a claim on the VM that took the guest: from then on the guest is on its account. */
export function claimRecord(
  after: VM,
  before: VM | undefined,
  { world, nowMs }: AdmissionContext,
): VM['spec']['fromPool'] {
  if (!takesGuest(after, before)) return after.spec.fromPool;
  const [member] = othersOfGuest(after, world);
  const pool = member && poolOf(member, world);
  if (pool === undefined) return after.spec.fromPool;
  const { name, namespace = '' } = pool.metadata;
  return { name, namespace, at: rfc3339(nowMs) };
}

import type { Lease } from '../kinds/lease.ts';
import { jsonEqual, valueAt } from '../meta/object.ts';
import { type Change, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { immutable } from './immutable.ts';
import { TENANT_DUTY } from './lease-overrides.ts';
import { LEASE_SET_DUTY, setOf } from './lease-set.ts';
import { earliestEndMs, isHostGone, isPending } from './lease-term.ts';
import { TENANTS } from './refs.ts';
import { isReservedName } from './tenant-guard.ts';
import type { WorldView } from './world.ts';

function forbidden(cause: string, message: string): Refusal {
  return { answer: 'Forbidden', cause, message };
}

const OPERATORS_ONLY = [
  ['spec', 'allowBusy'],
  ['spec', 'anyHost'],
  ['spec', 'release', 'force'],
] as const;

/**
 * What sets a rule aside is an operator's to ask. A tenant that an operator has deleted by force is taken apart the same way, and what an operator
 * asked of a set of Leases its Leases are made with.
 */
export const leaseRights: Guard<Lease> = {
  name: 'lease-rights',
  fences: () => NO_FENCES,
  judge({ before, after }, world, { asker }) {
    if (after === undefined || asker.operator) return undefined;
    for (const path of OPERATORS_ONLY) {
      if (valueAt(after, path) !== true || valueAt(before, path) === true) continue;
      if (path[1] === 'release' && asker.user === TENANT_DUTY && forcedAway(after, world)) continue;
      if (asker.user === LEASE_SET_DUTY && valueAt(setOf(after, world)?.spec.template, path) === true) continue;
      return forbidden('OperatorsOnly', `only operators set ${path.join('.')}`);
    }
    return undefined;
  },
};

function forcedAway({ metadata }: Lease, world: WorldView): boolean {
  return world.get(TENANTS, undefined, metadata.namespace ?? '')?.spec.forceDelete !== undefined;
}

const WISHES = immutable<Lease>(
  'spec.hostName',
  'spec.selector',
  'spec.minVCPUs',
  'spec.minMemory',
  'spec.nested',
  'spec.anyHost',
  'spec.allowBusy',
);
const RELEASE = immutable<Lease>('spec.release');
const FACTS = immutable<Lease>(
  'status.host',
  'status.hostUID',
  'status.grantedAt',
  'status.earliestEnd',
  'status.pricePerHour',
  'status.currency',
);
const RECORD = immutable<Lease>('status.phase', 'status.endsAt', 'status.endedAt', 'status.billedUntil');

/** What a lease was given for, when and at what price stays so once it was granted; what is over stays as it was. */
export const leaseRecord: Guard<Lease> = {
  name: 'lease-record',
  fences: () => NO_FENCES,
  judge(change, world, context) {
    const { before, after } = change;
    if (before === undefined || after === undefined) return undefined;
    const guards = [
      ...(isPending(before) ? [] : [WISHES, FACTS]),
      ...(before.status?.phase === 'Ending' || before.status?.phase === 'Ended' ? [RELEASE] : []),
      ...(before.status?.phase === 'Ended' ? [RECORD] : []),
    ];
    for (const guard of guards) {
      const refusal = guard.judge(change, world, context);
      if (refusal !== undefined) return refusal;
    }
    return lostOverride(before, after);
  },
};

/** Duties take namespaces apart, records and all. */
const DUTIES = 'system:controller:';

/** The record of a lease that is over stays while it is billed, unless an operator deletes it. */
export const leaseBilled: Guard<Lease> = {
  name: 'lease-billed',
  fences: () => NO_FENCES,
  judge({ before, after }, _, { nowMs, asker }) {
    const goes = after === undefined || after.metadata.deletionTimestamp !== undefined;
    const until = before?.status?.phase === 'Ended' ? before.status.billedUntil : undefined;
    if (!goes || until === undefined || before?.metadata.deletionTimestamp !== undefined) return undefined;
    if (nowMs >= Date.parse(until) || asker.operator || asker.user.startsWith(DUTIES)) return undefined;
    return forbidden('BilledUntil', `it is billed until ${until}; its record can be deleted from then on`);
  },
};

/** A namespace that can never be a tenant has no leases: they would wait for good. */
export const tenantsOnly: Guard<Lease> = {
  name: 'tenants-only',
  fences: () => NO_FENCES,
  judge({ before, after }) {
    const namespace = after?.metadata.namespace ?? '';
    if (before !== undefined || !isReservedName(namespace)) return undefined;
    return forbidden('ReservedName', `namespace ${namespace} cannot be a tenant, and only tenants lease hosts`);
  },
};

function lostOverride(before: Lease, after: Lease): Refusal | undefined {
  const kept = after.status?.overrides ?? [];
  // Terms that others have taken the place of give way where there is no more room.
  const newest = after.spec.acceptedTerms?.version;
  const lost = before.status?.overrides?.find(
    (each) => !kept.some((other) => jsonEqual(each, other)) && (each.what !== 'Terms' || each.detail === newest),
  );
  return (
    lost && forbidden('OverrideKept', `status.overrides keeps what it has: ${lost.what} by ${lost.by} at ${lost.at}`)
  );
}

/** No lease ends before its minimum is over, by whatever way, unless an operator forces it. */
export const leaseMinimum: Guard<Lease> = {
  name: 'lease-minimum',
  fences: () => NO_FENCES,
  judge(change, world, context) {
    const { before } = change;
    if (before?.status?.phase !== 'Active' || before.spec.release?.force === true) return undefined;
    if (context.nowMs >= earliestEndMs(before)) return undefined;
    if (!deletedEarly(change, before) && !releasedEarly(change, before)) return undefined;
    return tooEarly(before, isHostGone(before, world), context.asker.operator);
  },
};

function deletedEarly({ after }: Change<Lease>, before: Lease): boolean {
  const begins = after === undefined || after.metadata.deletionTimestamp !== undefined;
  if (!begins || before.metadata.deletionTimestamp !== undefined) return false;
  return before.spec.releasePolicy !== 'WhenAllowed';
}

function releasedEarly({ after }: Change<Lease>, before: Lease): boolean {
  const release = after?.spec.release;
  if (after === undefined || release === undefined || release.force === true) return false;
  if (after.spec.releasePolicy === 'WhenAllowed' || jsonEqual(release, before.spec.release)) return false;
  return release.at === undefined || Date.parse(release.at) < earliestEndMs(before);
}

/** What can be done instead: by whoever asks, and as things stand. */
function tooEarly({ metadata, status }: Lease, hostIsGone: boolean, operator: boolean): Refusal {
  const at = status?.earliestEnd;
  const ways = hostIsGone
    ? 'its host is gone, so it ends then by itself'
    : `release it then (spec.release.at: ${at}), or set spec.releasePolicy to WhenAllowed and delete it: its host is held until then`;
  const force = operator
    ? `To end it now: coppice lease release ${metadata.name} -n ${metadata.namespace} --force`
    : 'Only an operator can force it to end before';
  return forbidden('MinimumTerm', `its minimum term ends at ${at}; ${ways}. ${force}`);
}

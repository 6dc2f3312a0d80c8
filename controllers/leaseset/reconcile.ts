import { LEASE_SET_LABEL } from '../../resources/guards/lease-set.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { counted } from '../../resources/meta/counted.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { wantedReplicas } from '../../resources/meta/wanted-replicas.ts';
import type { Outcome } from '../runtime/duty.ts';
import { tellReady, tellWanted } from '../runtime/tell-ready.ts';
import { writeStatus } from '../runtime/write.ts';
import { changeMembers, settleMembership } from './change-members.ts';
import { decide, type Membership, membership, type Plan } from './decide.ts';
import { makeLeases } from './make-leases.ts';
import type { LeaseSetDeps } from './set-deps.ts';
import { type Stop, setStatus } from './set-status.ts';
import { REMEMBERED_MS } from './written-leases.ts';

/** Timers go by the time that goes by, windows by the clock: where that is set, they differ no longer than this. */
const LONGEST_WAIT_MS = 900_000;
/** Room in a quota is heard of; this is for what is not. */
const REFUSED_AGAIN_MS = 300_000;

/** Makes and ends Leases until there are as many as are wanted, and says what there is. */
export async function reconcile(key: string, deps: LeaseSetDeps, signal: AbortSignal): Promise<Outcome> {
  const set = deps.sets.get(key);
  // One that goes lets its Leases go their way.
  if (set === undefined || set.metadata.deletionTimestamp !== undefined) return {};
  await settleMembership(set, membershipOf(set, deps), deps, signal);
  const { replicas: wanted, until } = wantedReplicas(set.spec, deps.clock.now());
  const plan = planOf(set, wanted, deps);
  let { again } = await changeMembers(set, plan, deps, signal);
  let stop = standsInTheWay(set, deps);
  let made = set.status?.made;
  let current: LeaseSet | undefined = set;
  if (plan.make > 0 && stop === undefined) {
    current = await promise(set, wanted, deps, signal);
    if (current === undefined) return {};
    await lookAgain(set, deps, signal);
    const answer = await makeLeases(current, planOf(set, wanted, deps).make, deps, signal);
    ({ stop, made } = answer);
    again = again === true || answer.again === true;
  }
  const after = planOf(set, wanted, deps);
  const status = setStatus(current, membershipOf(set, deps).members, wanted, after, stop, deps.clock.now());
  const sets = deps.client.resource<LeaseSet>(LeaseSet, set.metadata.namespace);
  const written = await writeStatus(sets, current, { ...status, made }, signal);
  if (written !== undefined) tell(set, written, deps);
  return { again: again === true, ...nextLook(after, until, stop, deps) };
}

function tell(before: LeaseSet, after: LeaseSet, { events }: LeaseSetDeps): void {
  tellWanted(before, after, events);
  tellReady(before, after, ['Making', 'Waiting'], events);
  const { surplus = 0, nextRelease } = after.status ?? {};
  if (surplus <= (before.status?.surplus ?? 0)) return;
  const message = `${counted(surplus, 'lease')} more than wanted: ${surplus === 1 ? 'it stays until its minimum is over' : 'they stay until their minimum is over'}, the first at ${nextRelease}`;
  events.record(after, { type: 'Normal', reason: 'Surplus', message });
}

/** No more are made than the status says are wanted, so that everybody can see that. */
function promise(
  set: LeaseSet,
  wanted: number,
  { client }: LeaseSetDeps,
  signal: AbortSignal,
): Promise<LeaseSet | undefined> {
  return writeStatus(client.resource<LeaseSet>(LeaseSet, set.metadata.namespace), set, { wanted }, signal);
}

/** A cache may be behind, so only the server can say that a Lease is not there. */
async function lookAgain(
  { metadata }: LeaseSet,
  { client, written }: LeaseSetDeps,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = `${LEASE_SET_LABEL}=${metadata.name}`;
  const { items } = await client.resource<Lease>(Lease, metadata.namespace).list({ labelSelector }, signal);
  for (const lease of items) written.wrote(lease);
}

function membershipOf(set: LeaseSet, { leasesBySet, written }: LeaseSetDeps): Membership {
  const { metadata } = set;
  const found = new Set([...leasesBySet.get(objectKey(metadata)), ...leasesBySet.get(metadata.uid)]);
  return membership(set, written.over([...found], metadata.namespace));
}

function planOf(set: LeaseSet, wanted: number, deps: LeaseSetDeps): Plan {
  const isIdle = ({ metadata, status }: Lease) =>
    deps.vmsByPlace.count(objectKey({ namespace: metadata.namespace, name: status?.host ?? '' })) === 0;
  return decide(membershipOf(set, deps).members, wanted, isIdle, deps.clock.now());
}

/** Why no Lease of the set can be of use, whatever hosts there are. */
function standsInTheWay({ metadata }: LeaseSet, { tenants }: LeaseSetDeps): Stop | undefined {
  const { namespace = '' } = metadata;
  const tenant = tenants.get(namespace);
  if (tenant === undefined)
    return { reason: 'TenantNotFound', message: `no Tenant is named ${namespace}; the set waits for it` };
  if (tenant.metadata.deletionTimestamp !== undefined)
    return { reason: 'TenantDeleting', message: `tenant ${namespace} is being deleted` };
  if (tenant.spec.disabled !== true) return undefined;
  return { reason: 'TenantDisabled', message: `tenant ${namespace} is disabled: nothing new begins` };
}

function nextLook(
  { nextReleaseMs }: Plan,
  until: number | undefined,
  stop: Stop | undefined,
  { clock, written }: LeaseSetDeps,
): Outcome {
  const nowMs = clock.now();
  const inMs = (atMs: number | undefined) => (atMs === undefined ? [] : [Math.min(LONGEST_WAIT_MS, atMs - nowMs)]);
  const waits = [
    ...inMs(until),
    ...inMs(nextReleaseMs),
    ...(stop === undefined ? [] : [REFUSED_AGAIN_MS]),
    ...(written.size === 0 ? [] : [REMEMBERED_MS]),
  ];
  return waits.length === 0 ? {} : { requeueAfterMs: Math.max(1, Math.min(...waits)) };
}

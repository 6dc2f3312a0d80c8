import { rfc3339 } from '../ambient/clock.ts';
import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import type { AdmissionContext } from '../meta/define-kind.ts';
import { holding } from './holding.ts';
import { takesOver } from './lease-host.ts';
import { leaseOverrides } from './lease-overrides.ts';
import { priceOf } from './lease-price.ts';
import { LEASE_SET_DUTY, setOf } from './lease-set.ts';
import { earliestEndMs, endMs, holdsHost, isHostGone, isPending, minimumMs, wholeSecond } from './lease-term.ts';
import { HOSTS, POLICIES, PRICE_LISTS } from './refs.ts';

/** Keeps a Lease that is deleted until its host is let go; removed by the lease duty. One that may be deleted earlier never has it. */
export const LEASE_FINALIZER = 'coppice.dev/lease';

type Status = NonNullable<Lease['status']>;

/**
 * Admission of a Lease: who asked for what and when, and the instants and the price, which the server fixes itself so that they are of one clock and of
 * one moment with the grant. A duty only says which host, and which phase.
 */
export function admitLease(draft: Lease, previous: Lease | undefined, context: AdmissionContext): Lease {
  const stamped = { ...draft, spec: stampedSpec(draft, previous, context) };
  const overridden = leaseOverrides(stamped, previous, context);
  const told = withEnd(granted(ended(overridden, previous, context), previous, context), previous, context);
  return heldWhileItEnds(told, previous, context);
}

/** Who releases, and who accepts terms, stands beside it, whatever a client says. */
function stampedSpec(draft: Lease, previous: Lease | undefined, context: AdmissionContext): Lease['spec'] {
  const { release, acceptedTerms, ...rest } = draft.spec;
  const released = previous?.spec.release;
  const sameRelease = released?.at === release?.at && released?.force === release?.force;
  return {
    ...rest,
    ...(acceptedTerms === undefined
      ? {}
      : { acceptedTerms: stampedTerms(acceptedTerms, acceptedBefore(draft, previous, context), context) }),
    ...(release === undefined
      ? {}
      : {
          release: {
            ...release,
            by: (sameRelease ? released?.by : undefined) ?? context.asker.user,
            requestedAt: (sameRelease ? released?.requestedAt : undefined) ?? rfc3339(context.nowMs),
          },
        }),
  };
}

type Terms = NonNullable<Lease['spec']['acceptedTerms']>;

/** Terms with who accepted them and when: those who did before, where they are the same. */
export function stampedTerms(terms: Terms, before: Terms | undefined, { nowMs, asker }: AdmissionContext): Terms {
  const same = before?.version === terms.version && before.hash === terms.hash;
  return {
    ...terms,
    by: (same ? before.by : undefined) ?? asker.user,
    at: (same ? before.at : undefined) ?? rfc3339(nowMs),
  };
}

/** Terms of a Lease that a set makes were accepted in the set. */
function acceptedBefore(
  draft: Lease,
  previous: Lease | undefined,
  { world, asker }: AdmissionContext,
): Terms | undefined {
  if (previous !== undefined || asker.user !== LEASE_SET_DUTY) return previous?.spec.acceptedTerms;
  return setOf(draft, world)?.spec.template.spec.acceptedTerms;
}

function granted(draft: Lease, previous: Lease | undefined, { world, nowMs }: AdmissionContext): Lease {
  if (previous === undefined || !isPending(previous) || draft.status?.phase !== 'Active') return draft;
  const host = world.get(HOSTS, undefined, draft.status.host ?? '');
  // The guard of the grant says that it is not there.
  if (host === undefined) return draft;
  const { waiting: _, ...status } = draft.status;
  return { ...draft, status: { ...status, ...grantOf(draft, host, { world, nowMs }) } };
}

function grantOf(
  lease: Lease,
  host: Host,
  { world, nowMs }: Pick<AdmissionContext, 'world' | 'nowMs'>,
): Partial<Status> {
  const known = { hostUID: host.metadata.uid, hostInfo: hostInfoOf(host) };
  const claim = takesOver(lease, host, world) ? host.status?.lease : undefined;
  const price = priceOf(host, world.get(PRICE_LISTS, undefined, 'default'));
  const grantedAt = claim?.since ?? wholeSecond(nowMs);
  const minimum = minimumMs(world.get(POLICIES, undefined, 'default'));
  return {
    ...known,
    grantedAt,
    earliestEnd: claim?.earliestEnd ?? rfc3339(Date.parse(grantedAt) + minimum),
    pricePerHour: claim?.pricePerHour ?? price.pricePerHour,
    currency: claim?.currency ?? price.currency,
  };
}

/** What the lessee may know of its host. What is free of it is not among that: it would move with every VM, and all VMs there are the lessee's own. */
function hostInfoOf({ status = {} }: Host): NonNullable<Status['hostInfo']> {
  const { os, arch, chip, nested, macosSlots } = status;
  return {
    vcpus: status.allocatable?.vcpus ?? 0,
    memory: status.allocatable?.memory ?? '0',
    ...(os === undefined ? {} : { os }),
    ...(arch === undefined ? {} : { arch }),
    ...(chip === undefined ? {} : { chip }),
    ...(nested === undefined ? {} : { nested }),
    ...(macosSlots === undefined ? {} : { macosSlots: macosSlots.total }),
  };
}

/** When it ends is told with the wish for it, until the end has begun: from then on it stands. */
function withEnd(draft: Lease, previous: Lease | undefined, { world, nowMs }: AdmissionContext): Lease {
  const begins = draft.status?.phase === 'Ending' && previous?.status?.phase === 'Active';
  if (draft.status?.phase !== 'Active' && !begins) return draft;
  const atMs = endMs(draft, world);
  if (atMs === undefined || !holdsHost(previous ?? draft)) return withEndsAt(draft, atMs);
  // A release or a duration that names a time that is past asks for now: what was used until then is billed. An end that was told stands, though it is late.
  const secondMs = Math.floor(nowMs / 1000) * 1000;
  const told = previous?.status?.endsAt;
  const earliestMs = told === undefined ? secondMs : Math.min(Date.parse(told), secondMs);
  return withEndsAt(draft, Math.max(atMs, earliestMs));
}

function withEndsAt(draft: Lease, atMs: number | undefined): Lease {
  const { endsAt: _, ...status } = draft.status ?? {};
  return { ...draft, status: atMs === undefined ? status : { ...status, endsAt: wholeSecond(atMs) } };
}

function ended(draft: Lease, previous: Lease | undefined, { nowMs }: AdmissionContext): Lease {
  const { status } = draft;
  if (previous === undefined || previous.status?.phase === 'Ended' || status?.phase !== 'Ended') return draft;
  const { waiting: _, ...rest } = status;
  if (!holdsHost(previous)) return { ...draft, status: { ...rest, endedAt: rfc3339(nowMs) } };
  // The clock may have been set back since the end began: no lease has ended before that. The scrub that follows does not come before it either.
  const endedAt = rfc3339(Math.max(nowMs, Date.parse(status.endsAt ?? '') || 0));
  const billedMs = Math.max(earliestEndMs(draft), Date.parse(status.endsAt ?? endedAt));
  return { ...draft, status: { ...rest, endedAt, billedUntil: wholeSecond(billedMs) } };
}

/**
 * A Lease that is deleted while it holds a host stays until the host is let go. Only one that may be deleted before its minimum is over goes at once, and
 * leaves its claim to the host.
 */
function heldWhileItEnds(draft: Lease, previous: Lease | undefined, { nowMs }: AdmissionContext): Lease {
  const begins = draft.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined;
  if (!begins || previous === undefined || !holdsHost(previous) || leavesClaim(previous, nowMs)) return draft;
  const { deletionTimestamp: _, ...metadata } = draft.metadata;
  const { finalizers } = holding({ ...draft, metadata }, LEASE_FINALIZER).metadata;
  return { ...draft, metadata: { ...draft.metadata, ...(finalizers === undefined ? {} : { finalizers }) } };
}

function leavesClaim(lease: Lease, nowMs: number): boolean {
  const { releasePolicy, release } = lease.spec;
  if (lease.status?.phase !== 'Active' || release?.force === true) return false;
  return releasePolicy === 'WhenAllowed' && nowMs < earliestEndMs(lease);
}

/** That a host stays held although the Lease is gone. */
export function heldHost(lease: Lease, { world, nowMs }: Pick<AdmissionContext, 'world' | 'nowMs'>): readonly string[] {
  if (!leavesClaim(lease, nowMs) || isHostGone(lease, world)) return [];
  const { host, earliestEnd } = lease.status ?? {};
  return [`host ${host} stays held for ${lease.metadata.namespace} and is billed until ${earliestEnd}`];
}

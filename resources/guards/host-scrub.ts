import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import { isTrue } from '../meta/condition.ts';
import type { AdmissionContext, CompanionWrite } from '../meta/define-kind.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { LEASES } from './refs.ts';
import { countOf, namesOf, vmsUsing } from './vms-using.ts';
import { volumesText } from './volumes-text.ts';

/** The condition of a host that takes no VM and no lease before it is cleared. */
export const SCRUB_PENDING = 'ScrubPending';

/** Whether a host takes no VM and no lease before it is cleared. */
export function waitsForScrub(host: Host): boolean {
  return isTrue(host, SCRUB_PENDING);
}

/**
 * A host that waits for a scrub is free by one alone, whoever writes. A nodelet is told to clear its host only while nobody leases it, nothing is bound to it and nothing can come to be: all of it judged at the moment of
 * telling. And who waits for a scrub is leased to nobody before it.
 */
export const hostScrub: Guard<Host> = {
  name: 'host-scrub',
  fences: (change) =>
    begins(change) || leases(change)
      ? { bump: [fence.host(change.after?.metadata.name ?? '')], compare: [] }
      : NO_FENCES,
  judge(change, world, { nowMs }) {
    const { after } = change;
    if (after === undefined) return undefined;
    const late = lateRequest(change, nowMs);
    if (late !== undefined) return late;
    const forbidden = (cause: string, message: string) => ({ answer: 'Forbidden', cause, message }) as const;
    if (isFreed(change)) {
      const { name } = after.metadata;
      const message = `host ${name} waits for a scrub, which alone makes it free: coppice scrub ${name}, or coppice host forget if the machine is lost`;
      return forbidden('ScrubPending', message);
    }
    if (leases(change) && waitsForScrub(after))
      return forbidden('ScrubPending', `host ${after.metadata.name} waits for a scrub; it is leased after that`);
    if (!begins(change)) return undefined;
    const lease = after.status?.lease;
    if (lease !== undefined)
      return forbidden(
        'Leased',
        `it is leased to ${lease.namespace} (lease ${lease.name}), whose VMs a scrub would end`,
      );
    if (!waitsForScrub(after)) return forbidden('NotPending', `condition ${SCRUB_PENDING} must be True with it`);
    const bound = vmsUsing(world, (vm) => vm.spec.hostName === after.metadata.name);
    if (bound.length > 0) return forbidden('VMsRemain', `${countOf(bound)} bound to it (${namesOf(bound)})`);
    const volumes = [...world.volumesOn(after.metadata.name)];
    return volumes.length === 0 ? undefined : forbidden('VolumesRemain', `${volumesText(volumes)} on it`);
  },
};

/** Requests are told apart by their instants, and each is answered once: one that is not later would never be. */
function lateRequest({ before, after }: Change<Host>, nowMs: number): Refusal | undefined {
  const asked = after?.spec.scrub?.requestedAt;
  const answered = before?.status?.scrub?.requestedAt;
  if (asked === undefined || asked === before?.spec.scrub?.requestedAt) return undefined;
  const why = whyNot(Date.parse(asked), answered, nowMs);
  if (why === undefined) return undefined;
  const message = `Invalid value: "${asked}": ${why}`;
  return { answer: 'Invalid', field: 'spec.scrub.requestedAt', cause: 'FieldValueInvalid', message };
}

/** Requests come after each other, so one far ahead would stand in the way of all that follow. */
function whyNot(askedMs: number, answered: string | undefined, nowMs: number): string | undefined {
  if (askedMs > nowMs + MOST_AHEAD_MS) return 'must be no more than a day ahead';
  if (answered === undefined || askedMs > Date.parse(answered)) return undefined;
  return `must be later than that of the last scrub, ${answered}`;
}

/** Whether the change tells the nodelet to begin. */
function begins({ before, after }: Change<Host>): boolean {
  const running = (host: Host | undefined) => host?.status?.scrub?.outcome === 'Running';
  return running(after) && !running(before);
}

/** Whether the change makes a host free that waits for a scrub, though neither one has succeeded with it nor is it leased again to whom it was. */
function isFreed(change: Change<Host>): boolean {
  const { before, after } = change;
  if (before === undefined || after === undefined || !waitsForScrub(before) || waitsForScrub(after)) return false;
  const isScrubbed = before.status?.scrub?.outcome === 'Running' && after.status?.scrub?.outcome === 'Succeeded';
  return !isScrubbed && !leases(change);
}

function leases({ before, after }: Change<Host>): boolean {
  return after?.status?.lease !== undefined && before?.status?.lease === undefined;
}

const MOST_AHEAD_MS = 24 * 3_600_000;
const LEASE_REF = { group: 'coppice.dev', version: 'v1', plural: 'leases', kind: 'Lease', namespaced: true } as const;
/** A host has one lease at a time; more without a record are left for the next scrub to note. */
const RECORDS = 20;

/** With the end of a scrub that succeeded, the leases that ended there since the last one say how the host was cleared after them: in one transaction. */
export function scrubRecords(
  after: Host | undefined,
  before: Host | undefined,
  { world }: AdmissionContext,
): readonly CompanionWrite[] {
  const scrub = after?.status?.scrub;
  if (scrub?.outcome !== 'Succeeded' || before?.status?.scrub?.outcome !== 'Running') return [];
  const record = recordOf(scrub);
  const noted = (lease: Lease) =>
    lease.status?.phase === 'Ended' && lease.status.scrub === undefined && lease.status.hostUID === after?.metadata.uid;
  return [...world.list(LEASES)]
    .filter(noted)
    .slice(0, RECORDS)
    .map((lease) => ({
      resource: LEASE_REF,
      namespace: lease.metadata.namespace ?? '',
      name: lease.metadata.name,
      object: { ...lease, status: { ...lease.status, scrub: record } },
    }));
}

type Scrub = NonNullable<NonNullable<Host['status']>['scrub']>;

function recordOf({ requestedAt, startedAt, finishedAt, forced, clearing }: Scrub) {
  const exitCode = clearing?.hook?.exitCode;
  return {
    requestedAt,
    startedAt: startedAt ?? requestedAt,
    finishedAt: finishedAt ?? requestedAt,
    ...(forced === undefined ? {} : { forced }),
    guestsRemoved: clearing?.guestsRemoved ?? 0,
    workspacesRemoved: clearing?.workspacesRemoved ?? 0,
    ...(exitCode === undefined ? {} : { hookExitCode: exitCode }),
  };
}

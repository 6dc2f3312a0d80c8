import { rfc3339 } from '../../resources/ambient/clock.ts';
import { SCRUB_PENDING } from '../../resources/guards/host-scrub.ts';
import { countOf, namesOf } from '../../resources/guards/vms-using.ts';
import { volumesText } from '../../resources/guards/volumes-text.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { type Condition, findCondition, isTrue, setConditions } from '../../resources/meta/condition.ts';
import type { StatusFields } from '../runtime/write.ts';
import { openRequest, type ScrubReport, type ScrubRequest } from './request.ts';

/** What the policy says of scrubs. */
export interface ScrubRules {
  readonly automatic: boolean;
  readonly hookTimeout: string;
  /** How long a stranded volume stands in the way, in milliseconds. */
  readonly retentionMs: number;
}

/** What is on a host: VMs whose guests are not gone, and volumes that are not lost. */
export interface Remains {
  readonly vms: readonly VM[];
  readonly volumes: readonly Volume[];
}

interface Decision {
  readonly status: StatusFields<Host>;
  /** VMs to delete once the status is written: from then on no other comes to the host. */
  readonly remove: readonly VM[];
  /** When a volume ceases to stand in its way, in milliseconds from now. */
  readonly againMs?: number;
}

type Pending = Omit<Condition, 'type' | 'lastTransitionTime' | 'observedGeneration'>;

interface Step {
  /** Undefined: there is none, or no more. */
  readonly scrub: ScrubReport | undefined;
  /** Undefined: as it was said before. */
  readonly pending?: Pending;
  readonly remove?: readonly VM[];
  readonly againMs?: number;
}

/**
 * One step of a host's scrub, from what is so. The nodelet is told to begin only when nothing is in the way,
 * and the host waits for the scrub from then until one succeeds: both in one write, so success stands for exactly what was cleared.
 */
export function decide(host: Host, remains: Remains, rules: ScrubRules, nowMs: number): Decision {
  const step = nextStep(host, remains, rules, nowMs);
  const said = findCondition(host, SCRUB_PENDING);
  const pending = step.pending ?? said;
  const conditions =
    pending === undefined
      ? host.status?.conditions
      : setConditions(host, nowMs, [
          { type: SCRUB_PENDING, status: pending.status, reason: pending.reason, message: pending.message },
        ]);
  const again = step.againMs === undefined ? {} : { againMs: step.againMs };
  return { status: { scrub: step.scrub, conditions }, remove: step.remove ?? [], ...again };
}

function nextStep(host: Host, remains: Remains, rules: ScrubRules, nowMs: number): Step {
  const { vms: bound, volumes } = remains;
  const last = host.status?.scrub;
  if (last?.outcome === 'Running')
    return last.clearing === undefined ? running(host, last) : ended(host, last, rules, nowMs);
  const request = openRequest(host, rules.automatic);
  const kept = volumes.filter((volume) => keptMs(volume, rules, nowMs) > 0);
  const aside = asideOf(host, kept, rules, nowMs);
  if (request === undefined) return { scrub: last?.outcome === 'Waiting' ? undefined : last, ...aside };
  const refusal = refusalOf(host, { vms: bound, volumes: kept }, request);
  if (refusal !== undefined) {
    // Where it comes by itself anyway, asking is not wrong, only early.
    if (rules.automatic && isTrue(host, SCRUB_PENDING)) {
      const scrub = waiting(request, `${refusal}${endText(kept, rules, nowMs)}`);
      return { scrub: kept.length === 0 ? scrub : { ...scrub, volumesInTheWay: namesIn(kept) }, ...aside };
    }
    const finishedAt = rfc3339(nowMs);
    return { scrub: { ...reportOf(request), outcome: 'Refused', finishedAt, message: refusal }, ...aside };
  }
  const absence = absenceOf(host);
  if (absence !== undefined) return { scrub: waiting(request, absence), ...aside };
  const pending: Pending = { status: 'True', reason: 'Scrubbing', message: 'it is being scrubbed' };
  if (bound.length > 0) {
    const doomed = `waits until its VMs are gone: ${countOf(bound)} bound to it (${namesOf(bound)})`;
    const remove = bound.filter((vm) => vm.metadata.deletionTimestamp === undefined);
    return { scrub: waiting(request, doomed), pending, remove };
  }
  if (volumes.length > 0) {
    const message = `waits until what is on it is given up: ${volumesText(volumes)} on it`;
    return { scrub: { ...waiting(request, message), takesVolumes: true }, pending };
  }
  const startedAt = rfc3339(nowMs);
  const { hookTimeout } = rules;
  return { scrub: { ...reportOf(request), outcome: 'Running', startedAt, hookTimeout }, pending };
}

/** For how long a volume stands in the way still; one that is not stranded does for good. */
function keptMs({ status }: Volume, { retentionMs }: ScrubRules, nowMs: number): number {
  if (status?.phase !== 'Stranded' || status.strandedAt === undefined) return Number.POSITIVE_INFINITY;
  return Date.parse(status.strandedAt) + retentionMs - nowMs;
}

const VOLUMES_REMAIN = 'VolumesRemain';
const NAMED = 20;

const namesIn = (volumes: readonly Volume[]): string[] =>
  volumes
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    .sort()
    .slice(0, NAMED);

/** What a host that waits for a scrub says of the volumes that stand in its way, whoever asks for it, and when to look at them again. */
function asideOf(
  host: Host,
  kept: readonly Volume[],
  rules: ScrubRules,
  nowMs: number,
): Pick<Step, 'pending' | 'againMs'> {
  const said = findCondition(host, SCRUB_PENDING);
  if (said?.status !== 'True') return {};
  if (kept.length === 0) {
    if (said.reason !== VOLUMES_REMAIN) return {};
    const message = 'its lease ended; it takes nothing before it is scrubbed';
    return { pending: { status: 'True', reason: 'LeaseEnded', message } };
  }
  const message = `it takes nothing before it is scrubbed, and ${volumesText(kept)} on it: a scrub is refused, and one by force destroys the data of ${ownersOf(kept)}${endText(kept, rules, nowMs)}`;
  const againMs = Math.min(...kept.map((volume) => keptMs(volume, rules, nowMs)));
  return {
    pending: { status: 'True', reason: VOLUMES_REMAIN, message },
    ...(Number.isFinite(againMs) ? { againMs } : {}),
  };
}

/** From when on volumes stand in its way no more. */
function endText(kept: readonly Volume[], rules: ScrubRules, nowMs: number): string {
  const endMs = nowMs + Math.max(...kept.map((volume) => keptMs(volume, rules, nowMs)));
  return Number.isFinite(endMs) ? `; from ${rfc3339(endMs)} on any scrub does` : '';
}

const ownersOf = (volumes: readonly Volume[]): string =>
  [...new Set(volumes.map(({ metadata }) => metadata.namespace))].sort().join(', ');

function reportOf({ requestedAt, force, automatic, by }: ScrubRequest) {
  const whose = by === undefined ? {} : { by };
  return { requestedAt, ...(force ? { forced: true } : {}), ...(automatic ? { automatic } : {}), ...whose };
}

function waiting(request: ScrubRequest, message: string): ScrubReport {
  return { ...reportOf(request), outcome: 'Waiting', message };
}

/** Why a scrub must not be, in a sentence. */
function refusalOf(host: Host, { vms: bound, volumes }: Remains, { force }: ScrubRequest): string | undefined {
  const lease = host.status?.lease;
  if (lease !== undefined) {
    const { namespace, name, released } = lease;
    const until = lease.earliestEnd === undefined ? '' : ` until ${lease.earliestEnd}`;
    return released === true
      ? `the host is held for ${namespace}${until} by lease ${name}, which was deleted before its minimum`
      : `the host is leased to ${namespace}; end the lease first: coppice lease release ${name} -n ${namespace} --force`;
  }
  if (force) return undefined;
  const orphans = host.status?.orphans ?? [];
  const loss = volumes.length === 0 ? '' : `, and destroys the data of ${ownersOf(volumes)}`;
  const said = [
    ...(bound.length === 0 ? [] : [`${countOf(bound)} bound to it (${namesOf(bound)})`]),
    ...(orphans.length === 0 ? [] : [orphansText(orphans)]),
    ...(volumes.length === 0 ? [] : [`${volumesText(volumes)} on it`]),
  ];
  return said.length === 0 ? undefined : `${said.join(', ')}; --force removes what remains${loss}`;
}

const ORPHANS_SHOWN = 3;

function orphansText(orphans: readonly { readonly label: string }[]): string {
  const labels = orphans.slice(0, ORPHANS_SHOWN).map(({ label }) => label);
  const shown = [...labels, ...(orphans.length > ORPHANS_SHOWN ? ['…'] : [])].join(', ');
  return orphans.length === 1 ? `1 guest has no VM (${shown})` : `${orphans.length} guests have no VM (${shown})`;
}

/** Why nobody could do it now. */
function absenceOf(host: Host): string | undefined {
  const distrust = findCondition(host, 'StoreRolledBack');
  if (distrust?.status === 'True') return `waits until the host trusts its store: ${distrust.message}`;
  const ready = findCondition(host, 'Ready');
  if (ready?.status === 'True') return undefined;
  return `waits for its nodelet: ${ready?.message ?? 'it has not been heard yet'}`;
}

function running(host: Host, last: ScrubReport): Step {
  const { message: _, ...scrub } = last;
  const absence = absenceOf(host);
  return { scrub: absence === undefined ? scrub : { ...scrub, message: absence } };
}

/** The nodelet has answered. */
function ended(host: Host, last: ScrubReport, rules: ScrubRules, nowMs: number): Step {
  const { message: _, ...scrub } = last;
  const finishedAt = rfc3339(nowMs);
  const { result, message = 'its nodelet did not say why' } = last.clearing ?? { result: 'Failed' as const };
  switch (result) {
    case 'Cleared':
      return {
        scrub: { ...scrub, outcome: 'Succeeded', finishedAt },
        pending: { status: 'False', reason: 'Scrubbed', message: `scrubbed at ${finishedAt}` },
      };
    case 'Refused': {
      if (rules.automatic && last.automatic === true)
        return { scrub: waiting({ requestedAt: last.requestedAt, force: false, automatic: true }, message) };
      const pending = { status: 'True', reason: 'ScrubRefused', message } as const;
      return { scrub: { ...scrub, outcome: 'Refused', finishedAt, message }, pending };
    }
    case 'Failed': {
      const again = `${message}; to try again: coppice scrub ${host.metadata.name}`;
      const pending = { status: 'True', reason: 'ScrubFailed', message: again } as const;
      return { scrub: { ...scrub, outcome: 'Failed', finishedAt, message }, pending };
    }
    default:
      throw new Error(`unhandled result ${result satisfies never}`);
  }
}

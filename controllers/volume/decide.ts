import { rfc3339 } from '../../resources/ambient/clock.ts';
import { HOSTS, POLICIES, TENANTS } from '../../resources/guards/refs.ts';
import { VOLUME_FINALIZER } from '../../resources/guards/volume-admission.ts';
import {
  holderOf,
  isStrandedOn,
  isVolumeLost,
  liesOn,
  notReady,
  orphanHolder,
} from '../../resources/guards/volume-facts.ts';
import { isForcedAway, isTaken } from '../../resources/guards/volume-guards.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { findCondition, isTrue, setConditions } from '../../resources/meta/condition.ts';
import { parseDuration } from '../../resources/meta/duration.ts';
import type { StatusFields } from '../runtime/write.ts';
import { type Bind, decideHost, type Wait } from './decide-host.ts';
import { volumeIDOf } from './volume-id.ts';

export type Decision =
  | { readonly kind: 'nothing' }
  /** Nothing of it is left anywhere, or can be. */
  | { readonly kind: 'release'; readonly goneHost?: string }
  | Bind
  /** `goneHost`: a host that is not known here; if it is really gone, this is to be told. */
  | { readonly kind: 'tell'; readonly status: StatusFields<Volume>; readonly goneHost?: string };

type Phase = NonNullable<NonNullable<Volume['status']>['phase']>;

/** What is so of a volume: its phase, and why it is ready or not. */
interface Standing {
  readonly phase: Phase;
  readonly ready: boolean;
  readonly reason: string;
  readonly message: string;
  readonly attachedTo?: string | undefined;
  /** Who took its data. */
  readonly lostBy?: string | undefined;
}

/** One step of a volume's life, from what is so. */
export function decide(volume: Volume, world: WorldView, hosts: readonly Host[], nowMs: number): Decision {
  const { hostName } = volume.spec;
  const host = hostName === undefined ? undefined : world.get(HOSTS, undefined, hostName);
  const goneHost = hostName !== undefined && host === undefined ? { goneHost: hostName } : {};
  const there = host !== undefined && liesOn(volume, host) ? host : undefined;
  if (volume.metadata.deletionTimestamp !== undefined) {
    if (volume.metadata.finalizers?.includes(VOLUME_FINALIZER) !== true) return { kind: 'nothing' };
    return there === undefined ? { kind: 'release', ...goneHost } : tell(volume, leaving(volume, there), world, nowMs);
  }
  if (isVolumeLost(volume)) return tell(volume, lostAlready(volume), world, nowMs);
  if (hostName === undefined) {
    const decision = decideHost(volume, world, hosts);
    return decision.kind === 'bind' ? decision : tell(volume, waiting(decision), world, nowMs);
  }
  if (there === undefined)
    return { ...tell(volume, lost(`host ${hostName} was given up`, nowMs), world, nowMs), ...goneHost };
  return tell(volume, standingOf(volume, there, world, nowMs), world, nowMs);
}

function standingOf(volume: Volume, host: Host, world: WorldView, nowMs: number): Standing {
  const holder = holderOf(volume, world);
  const orphan = orphanHolder(volume, host);
  if (holder === undefined && orphan === undefined) {
    const by = takenBy(volume, host, world);
    if (by !== undefined) return lost(by, nowMs);
  }
  if (holder?.spec.hostName !== undefined)
    return attached(volume, holder.metadata.name, `VM ${holder.metadata.name} has it`);
  if (orphan !== undefined)
    return attached(volume, volume.status?.attachedTo, `guest ${orphan} has it, whose VM is gone`);
  if (isStrandedOn(volume, host, world)) return stranded(volume, host, world, nowMs);
  const why = notReady(volume);
  if (why === undefined)
    return { phase: 'Available', ready: true, reason: 'Available', message: `it lies on host ${host.metadata.name}` };
  const file = findCondition(volume, 'FileReady');
  if (file?.status === 'False') return { phase: 'Pending', ready: false, reason: file.reason, message: file.message };
  return file === undefined
    ? { phase: 'Pending', ready: false, reason: 'Creating', message: why }
    : { phase: 'Available', ready: false, reason: 'Growing', message: why };
}

/** Whoever takes the data of a volume that no guest has: a scrub that waits for it, or the deletion of its tenant by force. */
function takenBy(volume: Volume, host: Host, world: WorldView): string | undefined {
  const { namespace = '' } = volume.metadata;
  if (isForcedAway(volume, world)) {
    const by = world.get(TENANTS, undefined, namespace)?.spec.forceDelete?.by;
    return `the deletion of tenant ${namespace}, forced${by === undefined ? '' : ` by ${by}`}`;
  }
  const scrub = host.status?.scrub;
  if (scrub === undefined || !isTaken(volume, host)) return undefined;
  const whose = scrub.by === undefined ? '' : ` by ${scrub.by}`;
  return scrub.forced === true
    ? `the scrub of host ${host.metadata.name}, forced${whose}`
    : `the scrub of host ${host.metadata.name}${scrub.by === undefined ? '' : `, asked for${whose}`}: it was stranded there since ${volume.status?.strandedAt}`;
}

function attached(volume: Volume, attachedTo: string | undefined, message: string): Standing {
  const file = findCondition(volume, 'FileReady');
  return file?.status === 'False'
    ? { phase: 'Attached', ready: false, reason: file.reason, message: file.message, attachedTo }
    : { phase: 'Attached', ready: true, reason: 'Attached', message, attachedTo };
}

function stranded(volume: Volume, host: Host, world: WorldView, nowMs: number): Standing {
  const { namespace } = volume.metadata;
  const since = strandedAt(volume, nowMs);
  const keptMs = parseDuration(world.get(POLICIES, undefined, 'default')?.spec.strandedVolumeRetention ?? '72h') ?? 0;
  const until = rfc3339(Date.parse(since) + keptMs);
  const { name } = host.metadata;
  const message = `host ${name} is not leased by ${namespace} any more; to have it back, lease that host: coppice lease create --host ${name} -n ${namespace}; a scrub destroys it from ${until} on, or by force`;
  return { phase: 'Stranded', ready: false, reason: 'Stranded', message };
}

const strandedAt = ({ status }: Volume, nowMs: number): string =>
  (status?.phase === 'Stranded' ? status.strandedAt : undefined) ?? rfc3339(nowMs);

function lost(lostBy: string, nowMs: number): Standing {
  return { phase: 'Lost', ready: false, reason: 'Lost', message: lossText(rfc3339(nowMs), lostBy), lostBy };
}

function lostAlready({ status }: Volume): Standing {
  const { lostAt, lostBy = 'an operator' } = status ?? {};
  return { phase: 'Lost', ready: false, reason: 'Lost', message: lossText(lostAt, lostBy), lostBy };
}

const lossText = (at: string | undefined, by: string): string =>
  `its data went${at === undefined ? '' : ` at ${at}`} with ${by}; delete it`;

function waiting({ reason, message }: Wait): Standing {
  return { phase: 'Pending', ready: false, reason, message };
}

function leaving(volume: Volume, host: Host): Standing {
  const heard = isTrue(host, 'Ready') ? '' : ', which is not heard';
  const message = `it is being deleted: waits until its file is gone from host ${host.metadata.name}${heard}`;
  return { phase: volume.status?.phase ?? 'Pending', ready: false, reason: 'Deleting', message };
}

function tell(
  volume: Volume,
  standing: Standing,
  world: WorldView,
  nowMs: number,
): Extract<Decision, { kind: 'tell' }> {
  const { phase, ready, reason, message, attachedTo, lostBy } = standing;
  const { status } = volume;
  const loss = phase === 'Lost' ? { lostAt: status?.lostAt ?? rfc3339(nowMs), lostBy: status?.lostBy ?? lostBy } : {};
  return {
    kind: 'tell',
    status: {
      phase,
      id: volumeIDOf(volume, world),
      attachedTo,
      strandedAt: phase === 'Stranded' ? strandedAt(volume, nowMs) : undefined,
      ...loss,
      observedGeneration: volume.metadata.generation,
      conditions: setConditions(volume, nowMs, [{ type: 'Ready', status: ready ? 'True' : 'False', reason, message }]),
    },
  };
}

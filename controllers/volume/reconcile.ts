import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { VOLUME_FINALIZER } from '../../resources/guards/volume-admission.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { findCondition, setConditions } from '../../resources/meta/condition.ts';
import { objectKey } from '../../resources/meta/object.ts';
import type { CacheView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { releaseFinalizer } from '../runtime/finalizer.ts';
import { hasReason, orGone, type StatusFields, writeStatus } from '../runtime/write.ts';
import { decide } from './decide.ts';
import { volumeIDOf } from './volume-id.ts';
import type { VolumeWorld } from './volume-world.ts';

export interface VolumeDeps {
  readonly client: ApiClient;
  readonly volumes: CacheView<Volume>;
  readonly hosts: CacheView<Host>;
  readonly view: VolumeWorld;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function reconcile(key: string, deps: VolumeDeps, signal: AbortSignal): Promise<Outcome> {
  const { client, clock, view, hosts, log } = deps;
  const volume = deps.volumes.get(key);
  if (volume === undefined) return {};
  const decision = decide(volume, view.world, [...hosts.list()], clock.now());
  if (decision.kind === 'nothing') return {};
  if (decision.kind === 'bind') return bind(volume, decision.host, deps, signal);
  // The cache may not show a host yet that is there: only the server can say that it is gone.
  if (decision.goneHost !== undefined) {
    const there = await orGone(client.resource<Host>(Host).get(decision.goneHost, signal));
    if (there !== undefined) return { again: true };
  }
  if (decision.kind === 'tell') return tell(volume, decision.status, deps, signal);
  await releaseFinalizer(resourceOf(volume, deps), volume, VOLUME_FINALIZER, signal);
  log.info('volume released', { volume: key });
  return {};
}

/** Once the server takes it, it lies there for good. */
async function bind(volume: Volume, host: Host, deps: VolumeDeps, signal: AbortSignal): Promise<Outcome> {
  const { view, events, log } = deps;
  const { name, resourceVersion } = volume.metadata;
  const hostName = host.metadata.name;
  view.assume(volume, host);
  let bound: Volume | undefined;
  try {
    const patch = { metadata: { resourceVersion }, spec: { hostName } };
    bound = await orGone(resourceOf(volume, deps).patch(name, patch, {}, signal));
  } catch (error) {
    view.answered(volume, undefined);
    if (hasReason(error, 'Conflict', 'ServiceUnavailable')) return { again: true };
    const cause = hasReason(error, 'Forbidden') ? error.details?.causes?.[0] : undefined;
    if (!hasReason(error, 'Forbidden') || cause === undefined) throw error;
    const message = error.message.replace(/^.*? is forbidden: /, '');
    await tell(volume, refused(volume, cause.reason, message, deps), deps, signal);
    return { again: true };
  }
  view.answered(volume, bound);
  if (bound === undefined) return {};
  log.info('volume bound', { volume: objectKey(volume.metadata), host: hostName });
  events.record(bound, { type: 'Normal', reason: 'Bound', message: `lies on host ${hostName} from now on` });
  return {};
}

/** The server saw the world otherwise; the caches will show it. */
function refused(volume: Volume, reason: string, message: string, { clock, view }: VolumeDeps): StatusFields<Volume> {
  return {
    phase: 'Pending',
    id: volumeIDOf(volume, view.world),
    observedGeneration: volume.metadata.generation,
    conditions: setConditions(volume, clock.now(), [{ type: 'Ready', status: 'False', reason, message }]),
  };
}

async function tell(
  volume: Volume,
  status: StatusFields<Volume>,
  deps: VolumeDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const written = await writeStatus(resourceOf(volume, deps), volume, status, signal);
    if (written !== undefined && written !== volume) report(volume, written, deps);
    return {};
  } catch (error) {
    // Its nodelet wrote since, or it came to be somebody's at this very moment: the cache will show it.
    if (hasReason(error, 'Conflict', 'Forbidden')) return { again: true };
    throw error;
  }
}

/** What happened to it, for people. */
function report(before: Volume, after: Volume, { events, log }: VolumeDeps): void {
  const [was, is] = [before.status, after.status];
  const { reason = '', message = '' } = findCondition(after, 'Ready') ?? {};
  const key = objectKey(after.metadata);
  if (was?.attachedTo !== is?.attachedTo) {
    if (is?.attachedTo !== undefined)
      events.record(after, { type: 'Normal', reason: 'Attached', message: `VM ${is.attachedTo} has it` });
    else events.record(after, { type: 'Normal', reason: 'Detached', message: `VM ${was?.attachedTo} is gone` });
  }
  if (was?.phase !== is?.phase) log.info('volume', { volume: key, phase: is?.phase, why: message });
  if (is?.phase === 'Stranded' || is?.phase === 'Lost') {
    if (was?.phase !== is.phase) events.record(after, { type: 'Warning', reason: is.phase, message });
    return;
  }
  const waits = reason !== findCondition(before, 'Ready')?.reason && is?.phase === 'Pending' && reason !== 'Creating';
  if (waits) events.record(after, { type: 'Warning', reason, message });
  if (was?.phase === 'Stranded')
    events.record(after, { type: 'Normal', reason: 'LeasedAgain', message: 'its host is leased by its owner again' });
}

function resourceOf({ metadata }: Volume, { client }: VolumeDeps) {
  return client.resource<Volume>(Volume, metadata.namespace);
}

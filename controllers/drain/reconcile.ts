import type { ApiClient } from '../../apiserver/client/client.ts';
import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { holdsNothing } from '../../resources/guards/vms-using.ts';
import { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition, isTrue, setConditions } from '../../resources/meta/condition.ts';
import { jsonEqual } from '../../resources/meta/object.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { orGone, type StatusFields, writeStatus } from '../runtime/write.ts';
import { decide, drainedCondition, type Progress } from './decide.ts';
import type { Setbacks } from './setbacks.ts';
import { take } from './steps.ts';

export interface DrainDeps {
  readonly client: ApiClient;
  readonly hosts: CacheView<Host>;
  readonly vms: CacheView<VM>;
  readonly vmsByHost: IndexView<VM>;
  /** By the uid of the VM they stand in for. */
  readonly standIns: IndexView<VM>;
  readonly setbacks: Setbacks;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How many VMs that wait are named. */
const MOST_WAITING = 20;

/** Tells how far the drain of a host is, then takes it a step on. */
export async function reconcile(key: string, deps: DrainDeps, signal: AbortSignal): Promise<Outcome> {
  const host = deps.hosts.get(key);
  if (host?.spec.drain === undefined) {
    deps.setbacks.keep(key, new Set());
    if (host !== undefined) await tellEnded(host, deps, signal);
    return {};
  }
  const progress = progressOf(host, host.spec.drain, deps);
  const hosts = deps.client.resource<Host>(Host);
  const written = await writeStatus(hosts, host, statusOf(host, host.spec.drain, progress, deps.clock.now()), signal);
  if (written === undefined) return {};
  tell(host, written, deps);
  if (progress.steps.length > 0) {
    // It may have been ended since, and what is deleted does not come back.
    const now = await orGone(hosts.get(key, signal));
    if (!jsonEqual(now?.spec.drain, host.spec.drain)) return { again: true };
  }
  let again = false;
  for (const step of progress.steps) again = !(await take(step, key, deps, signal)) || again;
  if (again) return { again };
  return progress.againInMs === undefined ? {} : { requeueAfterMs: Math.max(1, progress.againInMs) };
}

type Drain = NonNullable<Host['spec']['drain']>;

function progressOf(host: Host, { mode }: Drain, deps: DrainDeps): Progress {
  const { name } = host.metadata;
  const bound = deps.vmsByHost.get(name).filter((vm) => !holdsNothing(vm));
  deps.setbacks.keep(name, new Set(bound.map(({ metadata }) => metadata.uid)));
  return decide({
    mode,
    bound,
    unheard: isTrue(host, 'Ready')
      ? undefined
      : `host ${name} is not heard: ${findCondition(host, 'Ready')?.message ?? ''}`,
    standInsOf: (uid) => deps.standIns.get(uid),
    host: (other) => deps.hosts.get(other),
    setbackOf: (uid) => deps.setbacks.get(name, uid),
    nowMs: deps.clock.now(),
    monotonicMs: deps.clock.monotonic(),
  });
}

function statusOf(host: Host, { mode }: Drain, progress: Progress, nowMs: number): StatusFields<Host> {
  const { evicting, moving, kept } = progress;
  const waiting = progress.waiting.slice(0, MOST_WAITING).map(({ vm, reason }) => ({ vm, reason }));
  const startedAt = host.status?.drain?.startedAt ?? rfc3339(nowMs);
  return {
    drain: {
      ...{ mode, startedAt, evicting, rescheduling: moving, kept },
      ...(waiting.length === 0 ? {} : { waiting }),
    },
    conditions: setConditions(host, nowMs, [drainedCondition(mode, progress)]),
  };
}

/** A host that is not drained says nothing of drains. */
async function tellEnded(host: Host, deps: DrainDeps, signal: AbortSignal): Promise<void> {
  if (host.status?.drain === undefined && findCondition(host, 'Drained') === undefined) return;
  const conditions = (host.status?.conditions ?? []).filter(({ type }) => type !== 'Drained');
  const status = { drain: undefined, conditions };
  const written = await writeStatus(deps.client.resource<Host>(Host), host, status, signal);
  if (written === undefined) return;
  deps.log.info('drain ended', { host: host.metadata.name });
  deps.events.record(host, { type: 'Normal', reason: 'DrainEnded', message: 'it is not drained any more' });
}

function tell(before: Host, after: Host, { events, log }: DrainDeps): void {
  const { name } = after.metadata;
  const { mode } = after.status?.drain ?? {};
  const drained = findCondition(after, 'Drained');
  if (mode !== undefined && before.status?.drain?.mode !== mode) {
    log.info('drain begins', { host: name, mode });
    events.record(after, { type: 'Normal', reason: 'Draining', message: `it is being drained, mode ${mode}` });
  }
  if (drained?.status !== 'True' || isTrue(before, 'Drained')) return;
  log.info('host drained', { host: name, message: drained.message });
  events.record(after, { type: 'Normal', reason: 'Drained', message: drained.message });
}

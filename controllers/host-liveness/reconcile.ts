import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { Host } from '../../resources/kinds/host.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { HOST_LEASE_NAMESPACE, hostLeaseName } from '../../resources/streams/control-messages.ts';
import type { CacheView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { writeStatus } from '../runtime/write.ts';
import { hostConditions, judge } from './decide.ts';
import type { Sightings } from './sightings.ts';

export interface HostLivenessDeps {
  readonly client: ApiClient;
  readonly hosts: CacheView<Host>;
  readonly coordinationLeases: CacheView<CoordinationLease>;
  readonly sightings: Sightings;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function reconcile(key: string, deps: HostLivenessDeps, signal: AbortSignal): Promise<Outcome> {
  const { client, clock, sightings, events, log } = deps;
  const host = deps.hosts.get(key);
  if (host === undefined) {
    sightings.forget(key);
    return {};
  }
  const lease = deps.coordinationLeases.get(`${HOST_LEASE_NAMESPACE}/${hostLeaseName(key)}`);
  const verdict = judge(sightings.see(key, lease), clock.monotonic(), clock.now());
  const conditions = hostConditions(host, verdict.is, lease, clock.now());
  const written = await writeStatus(client.resource<Host>(Host), host, { conditions }, signal);

  const [was, is] = [findCondition(host, 'Ready'), written && findCondition(written, 'Ready')];
  if (is !== undefined && is.status !== was?.status) {
    log.info('host readiness changed', { host: key, ready: is.status, reason: is.reason });
    // The steps of a first start are no news; coming up and going down are.
    const [type, tells] =
      is.status === 'True' ? (['Normal', true] as const) : (['Warning', was?.status === 'True'] as const);
    if (tells) events.record(host, { type, reason: is.reason, message: is.message });
  }
  return verdict.is === 'silent' ? {} : { requeueAfterMs: verdict.againInMs };
}

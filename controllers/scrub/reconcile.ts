import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { holdsNothing } from '../../resources/guards/vms-using.ts';
import { isVolumeLost, liesOn } from '../../resources/guards/volume-facts.ts';
import { Host } from '../../resources/kinds/host.ts';
import type { Policy } from '../../resources/kinds/policy.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { parseDuration } from '../../resources/meta/duration.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { deleteThis, hasReason, writeStatus } from '../runtime/write.ts';
import { decide, type ScrubRules } from './decide.ts';

export interface ScrubDeps {
  readonly client: ApiClient;
  readonly hosts: CacheView<Host>;
  readonly vmsByHost: IndexView<VM>;
  readonly volumesByHost: IndexView<Volume>;
  readonly policies: CacheView<Policy>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function reconcile(key: string, deps: ScrubDeps, signal: AbortSignal): Promise<Outcome> {
  const { client, clock } = deps;
  const host = deps.hosts.get(key);
  if (host === undefined) return {};
  const vms = deps.vmsByHost.get(key).filter((vm) => !holdsNothing(vm));
  const volumes = deps.volumesByHost.get(key).filter((volume) => liesOn(volume, host) && !isVolumeLost(volume));
  const { status, remove, againMs } = decide(
    host,
    { vms, volumes },
    rulesOf(deps.policies.get('default')),
    clock.now(),
  );
  const written = await writeStatus(client.resource<Host>(Host), host, status, signal).catch((error: unknown) => {
    // A VM was bound, or the host leased, at this very moment: the cache will show it.
    if (hasReason(error, 'Forbidden')) return 'refused' as const;
    throw error;
  });
  if (written === 'refused') return { again: true };
  tell(host, written, deps);
  for (const vm of remove) await deleteThis(client.resource<VM>(VM, vm.metadata.namespace), vm, signal);
  return againMs === undefined ? {} : { requeueAfterMs: againMs };
}

function rulesOf(policy: Policy | undefined): ScrubRules {
  const { scrubMode = 'Manual', scrubHookTimeout = '10m', strandedVolumeRetention = '72h' } = policy?.spec ?? {};
  const retentionMs = parseDuration(strandedVolumeRetention) ?? Number.POSITIVE_INFINITY;
  return { automatic: scrubMode === 'Automatic', hookTimeout: scrubHookTimeout, retentionMs };
}

function tell(before: Host, after: Host | undefined, { events, log }: ScrubDeps): void {
  const scrub = after?.status?.scrub;
  if (after === undefined || scrub === undefined || scrub.outcome === before.status?.scrub?.outcome) return;
  const { outcome, message = '' } = scrub;
  log.info('host scrub', { host: after.metadata.name, outcome, message });
  const bad = outcome === 'Failed' || outcome === 'Refused';
  const said = outcome === 'Running' ? 'the host is being cleared' : 'nothing of its last lessee is left';
  events.record(after, { type: bad ? 'Warning' : 'Normal', reason: `Scrub${outcome}`, message: message || said });
}

import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { GUEST_FINALIZER } from '../../resources/guards/vm-admission.ts';
import { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { CacheView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { releaseFinalizer } from '../runtime/finalizer.ts';
import { deleteThis, orGone } from '../runtime/write.ts';
import { decide } from './decide.ts';

export interface VMLifecycleDeps {
  readonly client: ApiClient;
  readonly vms: CacheView<VM>;
  readonly hosts: CacheView<Host>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function reconcile(key: string, deps: VMLifecycleDeps, signal: AbortSignal): Promise<Outcome> {
  const { client, hosts, events, clock, log } = deps;
  const vm = deps.vms.get(key);
  if (vm === undefined) return {};
  const vms = client.resource<VM>(VM, vm.metadata.namespace);
  const decision = decide(vm, (name) => hosts.get(name) !== undefined, clock.now());
  switch (decision.kind) {
    case 'nothing':
      return {};
    case 'wait':
      return { requeueAfterMs: decision.ms };
    case 'expire':
      events.record(vm, {
        type: 'Normal',
        reason: 'Expired',
        message: `deleted at the end of its ttl of ${vm.spec.ttl}`,
      });
      await deleteThis(vms, vm, signal);
      log.info('vm expired', { vm: key, ttl: vm.spec.ttl });
      return {};
    case 'release':
      await releaseFinalizer(vms, vm, GUEST_FINALIZER, signal);
      return {};
    case 'release-if-host-gone':
      // The cache may not show a host yet that is there: only the server can say that it is gone.
      if ((await orGone(client.resource<Host>(Host).get(decision.host, signal))) !== undefined) return { again: true };
      await releaseFinalizer(vms, vm, GUEST_FINALIZER, signal);
      log.info('vm released, its host is gone', { vm: key, host: decision.host });
      return {};
    default:
      throw new Error(`unhandled decision ${decision satisfies never}`);
  }
}

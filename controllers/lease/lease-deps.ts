import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { EventRecorder } from '../runtime/events.ts';
import type { LeaseWorld } from './lease-world.ts';
import type { SteadyClock } from './steady-clock.ts';

/** The key of a pass over all that wait; another is a lease, or the host of a claim. */
export const PASS = '*';
/** The index value of leases that wait for a host. */
export const WAITING = 'waiting';

export interface LeaseDeps {
  readonly client: ApiClient;
  readonly leases: CacheView<Lease>;
  readonly waiting: IndexView<Lease>;
  readonly hosts: CacheView<Host>;
  readonly vmsByHost: IndexView<VM>;
  readonly view: LeaseWorld;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly log: Logger;
}

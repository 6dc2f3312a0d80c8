import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../resources/kinds/lease-set.ts';
import type { Tenant } from '../../resources/kinds/tenant.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { EventRecorder } from '../runtime/events.ts';
import type { WrittenLeases } from './written-leases.ts';

export interface LeaseSetDeps {
  readonly client: ApiClient;
  readonly sets: CacheView<LeaseSet>;
  readonly leases: CacheView<Lease>;
  /** By `namespace/name` of the set that a Lease is labelled with, and by the uid of the one that controls it. */
  readonly leasesBySet: IndexView<Lease>;
  readonly tenants: CacheView<Tenant>;
  /** By `namespace/host`: VMs that hold something of the host. */
  readonly vmsByPlace: IndexView<VM>;
  readonly written: WrittenLeases;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { Pool } from '../../resources/kinds/pool.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { EventRecorder } from '../runtime/events.ts';
import type { ShownWorld } from '../runtime/shown-world.ts';
import type { Failures } from './failures.ts';

export interface PoolDeps {
  readonly client: ApiClient;
  readonly pools: CacheView<Pool>;
  readonly vms: CacheView<VM>;
  /** Members by the uid of their pool. */
  readonly membersByPool: IndexView<VM>;
  readonly view: ShownWorld;
  readonly failures: Failures;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

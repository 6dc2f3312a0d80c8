import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { EtcdServer } from '../test/harness/etcd-server.ts';
import type { Contest } from './harness.ts';

/** What goals are measured with. */
export interface BenchWorld {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Emptied when the bench ends. */
  readonly folder: string;
  readonly packageRoot: string;
  /** An etcd on the disk of the bench's folder, started when it is first asked for; undefined where there is none to start. */
  readonly etcd: () => Promise<EtcdServer | undefined>;
  readonly signal: AbortSignal;
  /** Where processes of the fleet leave a profile of their CPU when they end; undefined: they take none. */
  readonly profiles?: string | undefined;
  /** Says how far something long has come. */
  readonly progress?: (line: string) => void;
}

/** Contests with what they share, which is made when the goal's turn comes and stopped by `held`. */
export interface Goal {
  /** Words that choose it on the command line. */
  readonly names: readonly string[];
  /** Throws `NotMeasured` when this machine has not what it takes. */
  open(world: BenchWorld, held: AsyncDisposableStack): Promise<readonly Contest[]>;
}

/** A goal that cannot be measured here; the message says why. */
export class NotMeasured extends Error {}

import type { Transport } from '../../apiserver/client/transport.ts';
import type { Random } from '../fuzz/random.ts';

/** Servers that clients ask, and what can be done to them. */
export interface ChaosWorld extends AsyncDisposable {
  /** A server stays one through its restarts. */
  readonly servers: readonly Transport[];
  readonly faults: readonly Fault[];
}

/** Something that goes wrong for a while. */
export interface Fault {
  readonly name: string;
  /** What it happens to: two faults never happen to one thing at once. */
  readonly target: string;
  /** Begins it; answers what ends it. */
  begin(random: Random): Promise<() => Promise<void>>;
}

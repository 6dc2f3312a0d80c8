import type { Transport } from '../../apiserver/client/transport.ts';
import type { Random } from '../fuzz/random.ts';
import type { Violation } from './violation.ts';

/** Servers that clients ask, and what can be done to them. */
export interface ChaosWorld extends AsyncDisposable {
  /** A server stays one through its restarts. */
  readonly servers: readonly Transport[];
  readonly faults: readonly Fault[];
  /** What goes on there besides the clients. */
  readonly work?: Work;
}

/** Something that has promises of its own to keep. */
export interface Work {
  /** Goes on until the signal aborts, and ends what it is at. */
  run(signal: AbortSignal): Promise<void>;
  /** Waits until all is as it should be, or the signal aborts; says what was broken. */
  settle(signal: AbortSignal): Promise<readonly Violation[]>;
  /** What it did, for people. */
  lines(): readonly string[];
}

/** Something that goes wrong for a while. */
export interface Fault {
  readonly name: string;
  /** What it happens to: two faults never happen to one thing at once. */
  readonly target: string;
  /** How long it takes until it shows; it lasts for longer. */
  readonly leastMs?: number;
  /** Begins it; answers what ends it. */
  begin(random: Random): Promise<() => Promise<void>>;
}

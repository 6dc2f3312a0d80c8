import type { Clock } from '../../resources/ambient/clock.ts';
import type { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { jsonEqual } from '../../resources/meta/object.ts';
import type { Sighting } from './decide.ts';

/**
 * When each host's coordination Lease last changed before our eyes. It begins empty with the process, which is why a restarted duty gives
 * every host a full grace period.
 */
export class Sightings {
  readonly #clock: Clock;
  readonly #byHost = new Map<string, Sighting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes in the Lease as it is now. */
  see(host: string, lease: CoordinationLease | undefined): Sighting {
    const last = this.#byHost.get(host);
    if (last !== undefined && jsonEqual(last.lease?.spec, lease?.spec)) return last;
    const sighting = { atMs: this.#clock.monotonic(), moved: last !== undefined, lease };
    this.#byHost.set(host, sighting);
    return sighting;
  }

  /** The host is gone. */
  forget(host: string): void {
    this.#byHost.delete(host);
  }
}

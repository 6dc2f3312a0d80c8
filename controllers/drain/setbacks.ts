import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';

/** A try to move a VM that came to nothing. */
export interface Setback {
  readonly tries: number;
  /** Monotonic time. */
  readonly retryAtMs: number;
  /** Why, how often, and when again. */
  readonly told: string;
}

const FIRST_MS = 10_000;
const MOST_MS = 300_000;

/**
 * What came of tries to move VMs, by host and VM: the next one is longer in coming each time, up to five minutes. Kept in memory only: after a restart each VM
 * is tried once sooner.
 */
export class Setbacks {
  readonly #clock: Clock;
  readonly #byHost = new Map<string, Map<string, Setback>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(host: string, uid: string): Setback | undefined {
    return this.#byHost.get(host)?.get(uid);
  }

  add(host: string, uid: string, why: string): void {
    const tries = (this.get(host, uid)?.tries ?? 0) + 1;
    const waitMs = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(tries - 1, 10));
    const retryAtMs = this.#clock.monotonic() + waitMs;
    const times = tries === 1 ? 'once' : `${tries} times`;
    const told = `${why}; tried ${times}, again at ${rfc3339(this.#clock.now() + waitMs)}`;
    const ofHost = this.#byHost.get(host) ?? new Map<string, Setback>();
    this.#byHost.set(host, ofHost.set(uid, { tries, retryAtMs, told }));
  }

  /** Forgets all of a host but these VMs. */
  keep(host: string, uids: ReadonlySet<string>): void {
    const ofHost = this.#byHost.get(host);
    for (const uid of ofHost?.keys() ?? []) if (!uids.has(uid)) ofHost?.delete(uid);
    if (ofHost?.size === 0) this.#byHost.delete(host);
  }
}

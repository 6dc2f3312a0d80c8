import type { ApiClient } from '../../apiserver/client/client.ts';
import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';

const LOOK_MS = 1_000;

/** How often the duties of controllers went from one process to another. */
export class Handovers {
  readonly #leaders = new Map<string, string>();
  count = 0;

  /** Looks every second until the signal aborts; a leader that was one for less is not seen. */
  async follow(client: ApiClient, signal: AbortSignal): Promise<void> {
    const leases = client.resource<CoordinationLease>(CoordinationLease, 'coppice-system');
    while (!signal.aborted) {
      const found = await leases.list({}, signal).catch(() => undefined);
      for (const { metadata, spec } of found?.items ?? []) {
        if (metadata.name.startsWith('duty-')) this.#see(metadata.name, spec?.holderIdentity ?? '');
      }
      await clock.sleep(LOOK_MS, signal).catch(() => {});
    }
  }

  #see(duty: string, leader: string): void {
    const before = this.#leaders.get(duty);
    if (leader === '' || leader === before) return;
    this.#leaders.set(duty, leader);
    if (before !== undefined) this.count += 1;
  }
}

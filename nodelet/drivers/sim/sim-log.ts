import type { ChangeFeed } from '../change-feed.ts';
import { DriverError, type LogOptions } from '../driver.ts';
import type { SimGuest } from './sim-guests-file.ts';

/** The console log of a simulated guest. `guest` answers it as it is now, undefined once it is removed. */
export async function* simLog(
  guest: () => SimGuest | undefined,
  id: string,
  feed: ChangeFeed,
  options: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (guest() === undefined) throw new DriverError('NoSuchGuest', `there is no guest ${id} on this host`);
  const left = new AbortController();
  // Heard before the first look, so that no line falls between.
  const changes = feed.read(AbortSignal.any([signal, left.signal]));
  try {
    let seen = Math.max(0, (guest()?.logged ?? 0) - (options.tailLines ?? Number.POSITIVE_INFINITY));
    const fresh = () => {
      const now = guest();
      if (now === undefined) return new Uint8Array();
      const lines = now.logged > seen ? now.log.slice(-(now.logged - seen)) : [];
      seen = now.logged;
      return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''));
    };
    const first = fresh();
    if (first.length > 0) yield first;
    if (options.follow !== true) return;
    for await (const changed of changes) {
      if (changed !== id) continue;
      const bytes = fresh();
      if (bytes.length > 0) yield bytes;
      if (guest() === undefined) return;
    }
  } finally {
    left.abort();
  }
}

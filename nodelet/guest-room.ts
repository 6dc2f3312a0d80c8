import { roughBytes } from '../resources/meta/quantity.ts';
import type { Driver, ObservedGuest } from './drivers/driver.ts';

/** What a guest takes of its host while it is on. */
interface GuestNeed {
  readonly id: string;
  readonly guestOS: 'macos' | 'linux';
  readonly memoryBytes: number;
}

interface NoRoom {
  readonly reason: 'MacSlotLimit' | 'InsufficientMemory';
  readonly message: string;
}

/** Apple's licence and hypervisor: two. */
export const MACOS_SLOTS = 2;

/**
 * The last line against a third macOS guest and more memory than there is: it holds whatever the store says. Counts every guest the driver shows that is
 * not off, orphans and paused ones too, and every start under way.
 */
export class GuestRoom {
  readonly #driver: Driver;
  readonly #starting = new Map<string, GuestNeed>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** Keeps room for a start, until the returned function is called; or says what there is too little of. */
  take(need: GuestNeed, memoryBytes: number, signal: AbortSignal): Promise<NoRoom | (() => void)> {
    const answer = this.#last.then(() => this.#take(need, memoryBytes, signal));
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** One at a time: a start that was let in is either still in `#starting` or shows in a list taken after it ended. */
  async #take(need: GuestNeed, memoryBytes: number, signal: AbortSignal): Promise<NoRoom | (() => void)> {
    const held = new Map(this.#starting);
    for (const guest of await this.#driver.list(signal)) if (isOn(guest)) held.set(guest.id, guest);
    held.delete(need.id);
    const refusal = refuse(need, [...held.values()], memoryBytes);
    if (refusal !== undefined) return refusal;
    this.#starting.set(need.id, need);
    return () => this.#starting.delete(need.id);
  }
}

/** Whether a guest takes memory and, on a Mac, a slot. */
export function isOn(guest: ObservedGuest): boolean {
  return guest.power !== 'Off';
}

function refuse(need: GuestNeed, held: readonly GuestNeed[], memoryBytes: number): NoRoom | undefined {
  const macs = held.filter((guest) => guest.guestOS === 'macos').length;
  if (need.guestOS === 'macos' && macs >= MACOS_SLOTS) {
    return { reason: 'MacSlotLimit', message: `the host runs ${macs} macOS guests already; ${MACOS_SLOTS} may run` };
  }
  const free = memoryBytes - held.reduce((sum, guest) => sum + guest.memoryBytes, 0);
  if (need.memoryBytes > free) {
    const message = `needs ${roughBytes(need.memoryBytes)} memory; ${roughBytes(Math.max(0, free))} of ${roughBytes(memoryBytes)} are free`;
    return { reason: 'InsufficientMemory', message };
  }
  return undefined;
}

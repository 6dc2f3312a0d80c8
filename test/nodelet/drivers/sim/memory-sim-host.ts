import type { SimGuest, SimHost } from '../../../../nodelet/drivers/sim/sim-guests-file.ts';

/** A simulated host whose guests are kept nowhere but in the map. */
export function memorySimHost(guests = new Map<string, SimGuest>()): SimHost {
  return { guests, saved: guests, save: async () => {}, settled: async () => {} };
}

/** The disk of a simulated host, in memory: whoever opens it finds what was saved. */
export class MemorySimDisk {
  #saved = new Map<string, SimGuest>();
  #inUse: ReadonlyMap<string, SimGuest> | undefined;

  get saved(): ReadonlyMap<string, SimGuest> {
    return this.#saved;
  }

  open(): SimHost {
    const guests = new Map(structuredClone([...this.#saved]));
    this.#inUse = guests;
    const savedNow = () => this.#saved;
    return {
      guests,
      get saved() {
        return savedNow();
      },
      save: async () => {
        if (this.#inUse === guests) this.#saved = new Map(structuredClone([...guests]));
      },
      settled: async () => {},
    };
  }

  /** Whoever has it open is dead. */
  kill(): void {
    this.#inUse = undefined;
  }
}

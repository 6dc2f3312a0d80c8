import type { SimGuest, SimHost } from '../../../../nodelet/drivers/sim/sim-guests-file.ts';

/** A simulated host whose guests are kept nowhere but in the map. */
export function memorySimHost(guests = new Map<string, SimGuest>(), volumes = new Map<string, number>()): SimHost {
  return { guests, saved: guests, volumes, savedVolumes: volumes, save: async () => {}, settled: async () => {} };
}

/** The disk of a simulated host, in memory: whoever opens it finds what was saved. */
export class MemorySimDisk {
  #saved = new Map<string, SimGuest>();
  #savedVolumes = new Map<string, number>();
  #inUse: ReadonlyMap<string, SimGuest> | undefined;

  get saved(): ReadonlyMap<string, SimGuest> {
    return this.#saved;
  }

  open(): SimHost {
    const guests = new Map(structuredClone([...this.#saved]));
    this.#inUse = guests;
    const volumes = new Map(this.#savedVolumes);
    const savedNow = () => this.#saved;
    const savedVolumesNow = () => this.#savedVolumes;
    return {
      guests,
      volumes,
      get savedVolumes() {
        return savedVolumesNow();
      },
      get saved() {
        return savedNow();
      },
      save: async () => {
        if (this.#inUse !== guests) return;
        this.#saved = new Map(structuredClone([...guests]));
        this.#savedVolumes = new Map(volumes);
      },
      settled: async () => {},
    };
  }

  /** Whoever has it open is dead. */
  kill(): void {
    this.#inUse = undefined;
  }
}

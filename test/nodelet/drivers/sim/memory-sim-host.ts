import type { SimGuest, SimHost } from '../../../../nodelet/drivers/sim/sim-guests-file.ts';

/** A simulated host whose guests are kept nowhere but in the map. */
export function memorySimHost(guests = new Map<string, SimGuest>()): SimHost {
  return { guests, saved: guests, save: async () => {}, settled: async () => {} };
}

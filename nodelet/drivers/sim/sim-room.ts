import { DriverError, type GuestSpec, type HostCapacity } from '../driver.ts';
import type { SimGuest, SimHost } from './sim-guests-file.ts';

/** macOS guests that may run on one machine at once. */
const MACOS_SLOTS = 2;

/** Throws `NoSpace` where the disks of all would not fit. */
export function needDisk(
  neededBytes: number,
  { guests, volumes }: Pick<SimHost, 'guests' | 'volumes'>,
  capacity: HostCapacity,
): void {
  const held = sum([...guests.values()].map((guest) => guest.spec.diskBytes)) + sum([...volumes.values()]);
  const free = capacity.diskBytes - held;
  if (neededBytes > free) throw new DriverError('NoSpace', `needs ${neededBytes} bytes of disk; ${free} are free`);
}

/** Throws `VolumeMissing` where a volume of a guest is not here, `InUse` where another guest here has it. */
export function needVolumes(spec: GuestSpec, { guests, volumes }: Pick<SimHost, 'guests' | 'volumes'>): void {
  for (const id of spec.volumes ?? []) {
    if (!volumes.has(id)) throw new DriverError('VolumeMissing', `there is no file of volume ${id} on this host`);
    const other = guestWith(id, guests.values());
    if (other !== undefined && other.spec.id !== spec.id)
      throw new DriverError('InUse', `guest ${other.spec.label} has volume ${id}`);
  }
}

/** The guest that has a volume. */
export function guestWith(volume: string, guests: Iterable<SimGuest>): SimGuest | undefined {
  for (const guest of guests) if (guest.spec.volumes?.includes(volume) === true) return guest;
  return undefined;
}

/** Throws `InUse` where a macOS guest finds no slot, `Failed` where there is too little memory for one that is to start. */
export function needRoom(
  guest: SimGuest,
  guests: Iterable<SimGuest>,
  capacity: HostCapacity,
  leakedSlots: number,
): void {
  const running = [...guests].filter((other) => other.power !== 'Off');
  const macs = running.filter((other) => other.spec.guestOS === 'macos').length;
  if (guest.spec.guestOS === 'macos' && macs + leakedSlots >= MACOS_SLOTS) {
    throw new DriverError(
      'InUse',
      `all ${MACOS_SLOTS} macOS slots are taken: ${macs} by guests, ${leakedSlots} leaked`,
    );
  }
  const free = capacity.memoryBytes - sum(running.map((other) => other.spec.memoryBytes));
  if (guest.spec.memoryBytes > free) {
    throw new DriverError(
      'Failed',
      `needs ${guest.spec.memoryBytes} bytes of memory; ${free} of ${capacity.memoryBytes} are free`,
    );
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

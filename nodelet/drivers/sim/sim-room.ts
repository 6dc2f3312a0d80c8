import { DriverError, type GuestSpec, type HostCapacity } from '../driver.ts';
import type { SimGuest } from './sim-guests-file.ts';

/** macOS guests that may run on one machine at once. */
const MACOS_SLOTS = 2;

/** Throws `NoSpace` where the disks of all would not fit. */
export function needDisk(spec: GuestSpec, guests: Iterable<SimGuest>, capacity: HostCapacity): void {
  const free = capacity.diskBytes - sum([...guests].map((guest) => guest.spec.diskBytes));
  if (spec.diskBytes > free)
    throw new DriverError('NoSpace', `needs ${spec.diskBytes} bytes of disk; ${free} are free`);
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

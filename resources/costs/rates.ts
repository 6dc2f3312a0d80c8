import { priceOf } from '../guards/lease-price.ts';
import type { Host } from '../kinds/host.ts';
import type { PriceList } from '../kinds/price-list.ts';
import { parseBytes } from '../meta/quantity.ts';
import { divided, type Micros, parseMicros } from './money.ts';

const GIB = 1024n ** 3n;

/** What an hour of a VM costs on a host that nobody leases. */
export function vmRate(
  { vcpus, memory, guestOS }: { readonly vcpus: number; readonly memory: string; readonly guestOS: 'macos' | 'linux' },
  prices: PriceList | undefined,
): Micros {
  const { vmPerHour, vcpuPerHour, memoryGiBPerHour, macosVMPerHour } = prices?.spec ?? {};
  return (
    parseMicros(vmPerHour) +
    parseMicros(vcpuPerHour) * BigInt(vcpus) +
    perGiB(memoryGiBPerHour, memory) +
    (guestOS === 'macos' ? parseMicros(macosVMPerHour) : 0n)
  );
}

/** What an hour of a volume costs. */
export function volumeRate(size: string, prices: PriceList | undefined): Micros {
  return perGiB(prices?.spec.volumeGiBPerHour, size);
}

function perGiB(price: string | undefined, quantity: string): Micros {
  return divided(parseMicros(price) * BigInt(parseBytes(quantity) ?? 0), GIB);
}

/** What an hour of a host costs that a lease gets, at the price of now. */
export function hostRate(host: Host, prices: PriceList | undefined): Micros {
  return parseMicros(priceOf(host, prices).pricePerHour);
}

/** The least that an hour of a host can cost that has what a lease asks for, whichever it is. */
export function leastHostRate(
  { minVCPUs = 0, minMemory = '0' }: { readonly minVCPUs?: number; readonly minMemory?: string },
  prices: PriceList | undefined,
): Micros {
  const sizes = [{ minVCPUs: 0, minMemory: '0' }, ...(prices?.spec.macClasses ?? [])];
  const rates = sizes.map((size) => {
    const vcpus = Math.max(minVCPUs, size.minVCPUs);
    const memory = String(Math.max(parseBytes(minMemory) ?? 0, parseBytes(size.minMemory) ?? 0));
    return parseMicros(priceOf({ status: { capacity: { vcpus, memory } } }, prices).pricePerHour);
  });
  return rates.sort((a, b) => Number(a - b))[0] ?? 0n;
}

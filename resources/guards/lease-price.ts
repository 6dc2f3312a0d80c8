import type { Host } from '../kinds/host.ts';
import type { PriceList } from '../kinds/price-list.ts';
import { parseBytes } from '../meta/quantity.ts';

interface Price {
  readonly pricePerHour: string;
  readonly currency: string;
}

/** A host, or what is known of one. */
interface Sized {
  readonly status?: Pick<NonNullable<Host['status']>, 'capacity' | 'allocatable'>;
}

/** What an hour of a host costs now: the price of the largest class whose size the machine has, else that of any Mac. No price list means nothing. */
export function priceOf(host: Sized, prices: PriceList | undefined): Price {
  const size = host.status?.capacity ?? host.status?.allocatable;
  const [vcpus, memory] = [size?.vcpus ?? 0, parseBytes(size?.memory ?? '0') ?? 0];
  const met = (prices?.spec.macClasses ?? [])
    .map((each) => ({ ...each, minBytes: parseBytes(each.minMemory) ?? 0 }))
    .filter((each) => vcpus >= each.minVCPUs && memory >= each.minBytes)
    .sort((a, b) => b.minVCPUs - a.minVCPUs || b.minBytes - a.minBytes || (a.name < b.name ? -1 : 1));
  return {
    pricePerHour: met[0]?.perHour ?? prices?.spec.macPerHour ?? '0',
    currency: prices?.spec.currency ?? 'USD',
  };
}

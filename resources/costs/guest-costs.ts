import { HOSTS, IMAGES, LEASES, POLICIES, PRICE_LISTS, VMS, VOLUMES } from '../guards/refs.ts';
import { sizeOf } from '../guards/vm-admission.ts';
import { isVolumeLost } from '../guards/volume-facts.ts';
import { isOpen } from '../guards/world.ts';
import type { Pool } from '../kinds/pool.ts';
import type { PriceList } from '../kinds/price-list.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { counted } from '../meta/counted.ts';
import { jsonEqual } from '../meta/object.ts';
import type { Amounts, Bound, CostFacts, ObjectChange } from './cost-line.ts';
import { exactMoney, type Micros } from './money.ts';
import { vmRate, volumeRate } from './rates.ts';

/** What an hour of a guest costs, and why. */
export interface GuestRate {
  readonly rate: Micros;
  readonly bound: Bound;
  readonly note: string;
  /** What each takes of its tenant's quota. */
  readonly size?: Size;
}

type Size = ReturnType<typeof sizeOf>;

/** What a change of a VM costs. On a Mac that its tenant leases it is paid for with the lease. */
export function vmCost({ before, after }: ObjectChange<VM>, facts: CostFacts): Amounts | undefined {
  const [is, was] = [vmHour(after, facts), vmHour(before, facts)];
  const perHour = is.rate - was.rate;
  if (perHour === 0n && (is.note === was.note || is.rate === 0n)) return undefined;
  const note = was.rate === 0n ? is.note : `${is.note}; before ${exactMoney(was.rate)} an hour`;
  return { perHour, bound: is.bound === 'exactly' ? was.bound : is.bound, atOnce: 0n, note };
}

function vmHour(vm: VM | undefined, facts: CostFacts): GuestRate {
  if (vm === undefined) return { rate: 0n, bound: 'exactly', note: 'it goes' };
  if (vm.spec.power !== undefined && vm.spec.power !== 'Running')
    return { rate: 0n, bound: 'exactly', note: `${vm.spec.power} VMs cost nothing` };
  const { namespace = '' } = vm.metadata;
  if (vm.spec.hostName === undefined) return guestRate(vm, namespace, facts);
  if (isLeasedBy(vm.spec.hostName, namespace, facts)) return { rate: 0n, bound: 'exactly', note: PAID(namespace) };
  return { ...guestRate(vm, namespace, facts), bound: 'exactly' };
}

/** What an hour of one guest costs, wherever it comes to be placed. */
export function guestRate(of: VM | Pool, namespace: string, { world, lessees }: CostFacts): GuestRate {
  const image = world.get(IMAGES, undefined, of.spec.image);
  const { guestOS, defaults } = image?.spec ?? {};
  const spec = { guestOS: guestOS ?? 'linux', source: { path: '' }, ...(defaults === undefined ? {} : { defaults }) };
  const needsLease = world.get(POLICIES, undefined, 'default')?.spec.requireLeaseForMacOS !== false;
  if (guestOS === 'macos' && needsLease) return { rate: 0n, bound: 'exactly', note: PAID(namespace) };
  const size = sizeOf(of, { spec } as Parameters<typeof sizeOf>[1]);
  const rate = vmRate({ ...size, guestOS: spec.guestOS }, world.get(PRICE_LISTS, undefined, 'default'));
  const price = `${exactMoney(rate)} an hour for each on a host that nobody leases`;
  if (image === undefined)
    return { rate, size, bound: 'about', note: `${price}; there is no Image ${of.spec.image} yet` };
  if (rate === 0n) return { rate, size, bound: 'exactly', note: 'it has no price' };
  if (!lessees.has(namespace)) return { rate, size, bound: 'exactly', note: price };
  return { rate, size, bound: 'atMost', note: `${price}, nothing where ${namespace} leases` };
}

const PAID = (namespace: string) => `on Macs that ${namespace} leases: paid for with the lease`;

function isLeasedBy(host: string, namespace: string, { world }: CostFacts): boolean {
  if (world.get(HOSTS, undefined, host)?.status?.lease?.namespace === namespace) return true;
  return [...world.list(LEASES, namespace)].some((lease) => isOpen(lease) && lease.status?.host === host);
}

/** What a change of a Volume costs: it is paid for as long as its data is there, whoever has it. */
export function volumeCost({ before, after }: ObjectChange<Volume>, { world }: CostFacts): Amounts | undefined {
  const prices = world.get(PRICE_LISTS, undefined, 'default');
  if ([before, after].some((volume) => volume !== undefined && isVolumeLost(volume))) return undefined;
  const hour = (volume: Volume | undefined) => (volume === undefined ? 0n : volumeRate(volume.spec.size, prices));
  const perHour = hour(after) - hour(before);
  if (before?.spec.size === after?.spec.size) return undefined;
  const sizes = before === undefined ? after?.spec.size : `${before.spec.size} → ${after?.spec.size}`;
  const note = after === undefined ? `${before?.spec.size}: its data goes` : `${sizes}, whether a VM has it or not`;
  return { perHour, bound: 'exactly', atOnce: 0n, note };
}

/** What new prices change for the VMs and volumes that are there. */
export function priceCost({ before, after }: ObjectChange<PriceList>, facts: CostFacts): Amounts | undefined {
  if (before === undefined || jsonEqual(before.spec, after?.spec)) return undefined;
  const { world } = facts;
  const vms = [...world.list(VMS)].filter((vm) => isCharged(vm, facts));
  const volumes = [...world.list(VOLUMES)].filter((volume) => !isVolumeLost(volume));
  const hour = (prices: PriceList | undefined) =>
    vms.reduce((sum, { spec }) => sum + (spec.resolved === undefined ? 0n : vmRate(spec.resolved, prices)), 0n) +
    volumes.reduce((sum, { spec }) => sum + volumeRate(spec.size, prices), 0n);
  if (vms.length + volumes.length === 0) return undefined;
  const count = `${counted(vms.length, 'VM')} on hosts that nobody leases and ${counted(volumes.length, 'volume')}`;
  const [is, was] = [hour(after), hour(before)];
  const prices = `${exactMoney(is)} an hour, before ${exactMoney(was)}`;
  const note = `for ${count} that are there: ${prices}; a lease keeps the price it was granted at`;
  return { perHour: is - was, bound: 'exactly', atOnce: 0n, note };
}

function isCharged({ metadata, spec }: VM, facts: CostFacts): boolean {
  const { namespace = '' } = metadata;
  return spec.power === 'Running' && spec.hostName !== undefined && !isLeasedBy(spec.hostName, namespace, facts);
}

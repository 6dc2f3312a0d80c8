import { sizeRefusal, takesOver } from '../guards/lease-host.ts';
import { leasesLeft, oneMoreLeaseRefusal } from '../guards/lease-quota.ts';
import { HOSTS, LEASES, PRICE_LISTS } from '../guards/refs.ts';
import type { World } from '../guards/world.ts';
import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import type { PriceList } from '../kinds/price-list.ts';
import { objectKey } from '../meta/object.ts';
import { decideGrant } from '../placement/decide-grant.ts';
import type { CostFacts } from './cost-line.ts';
import { type Micros, parseMicros } from './money.ts';
import { type PriceRange, rangeOf } from './price-range.ts';
import { hostRate, leastHostRate } from './rates.ts';

/** What a new lease is going to get: a host, none that can be seen, none yet, or not even to be made. */
export type Granted =
  | {
      readonly kind: 'host';
      /** What an hour costs. */
      readonly rate: Micros;
      readonly host: string;
      /** It is held for the tenant until then: it is paid for, and nothing is owed anew. */
      readonly heldUntil?: string;
    }
  | { readonly kind: 'unseen'; readonly rate: Micros }
  | { readonly kind: 'waits'; readonly why: string; readonly later: PriceRange }
  | { readonly kind: 'refused'; readonly why: string };

/** Gives new leases their hosts one after the other, as the lease duty would, in a copy of the world in which each is taken. */
export class Grants {
  readonly #world: World;
  readonly #hosts: Map<string, Host> | undefined;

  constructor({ world, hosts }: Pick<CostFacts, 'world' | 'hosts'>) {
    this.#world = world;
    this.#hosts = hosts && new Map(hosts.map((host) => [host.metadata.name, host]));
  }

  next(lease: Lease): Granted {
    const refusal = oneMoreLeaseRefusal(lease.metadata.namespace ?? '', this.#world);
    if (refusal !== undefined) return { kind: 'refused', why: refusal.message };
    this.#world.set(LEASES, objectKey(lease.metadata), lease, 1);
    return this.#grant(lease);
  }

  /** How many leases more the quota of a tenant has room for. */
  room(namespace: string): number {
    return leasesLeft(namespace, this.#world);
  }

  /** How many hosts are machines as the lease asks for, whoever has them now; undefined where none may be seen. */
  fitting(lease: Lease): number | undefined {
    return this.#hosts && this.#machinesFor(lease).length;
  }

  /** What a lease can come to cost an hour, on any machine that it fits. Where there is none, no lease can cost less than this. */
  range(lease: Lease): PriceRange {
    const rates = this.#machinesFor(lease).map((host) => hostRate(host, this.#prices()));
    return rangeOf(rates) ?? { least: leastHostRate(lease.spec, this.#prices()), most: undefined };
  }

  #machinesFor(lease: Lease): readonly Host[] {
    const hosts = this.#hosts === undefined ? [] : [...this.#hosts.values()];
    return hosts.filter((host) => sizeRefusal(lease, host, this.#world) === undefined);
  }

  #grant(lease: Lease): Granted {
    if (this.#hosts === undefined) return { kind: 'unseen', rate: leastHostRate(lease.spec, this.#prices()) };
    const decision = decideGrant(lease, this.#world, [...this.#hosts.values()]);
    if (decision.kind === 'wait') return { kind: 'waits', why: decision.message, later: this.range(lease) };
    const { host } = decision;
    const claim = takesOver(lease, host, this.#world) ? host.status?.lease : undefined;
    this.#take(lease, host);
    const { name } = host.metadata;
    return claim === undefined
      ? { kind: 'host', host: name, rate: hostRate(host, this.#prices()) }
      : {
          kind: 'host',
          host: name,
          rate: parseMicros(claim.pricePerHour),
          heldUntil: claim.earliestEnd ?? claim.since,
        };
  }

  #take({ metadata }: Lease, host: Host): void {
    const { namespace = '', name, creationTimestamp } = metadata;
    const lease = { namespace, name, uid: metadata.uid, since: creationTimestamp, earliestEnd: creationTimestamp };
    const taken: Host = {
      ...host,
      status: { ...host.status, lease: { ...lease, pricePerHour: '0', currency: 'USD' } },
    };
    this.#hosts?.set(host.metadata.name, taken);
    this.#world.set(HOSTS, host.metadata.name, taken, 1);
  }

  #prices(): PriceList | undefined {
    return this.#world.get(PRICE_LISTS, undefined, 'default');
  }
}

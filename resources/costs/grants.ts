import { takesOver } from '../guards/lease-host.ts';
import { HOSTS, PRICE_LISTS } from '../guards/refs.ts';
import type { World } from '../guards/world.ts';
import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import { decideGrant } from '../placement/decide-grant.ts';
import type { Bound, CostFacts } from './cost-line.ts';
import { type Micros, parseMicros } from './money.ts';
import { hostRate, leastHostRate } from './rates.ts';

/** What a new lease is going to get. */
export interface Granted {
  /** What an hour costs. */
  readonly rate: Micros;
  readonly bound: Bound;
  readonly host?: string;
  /** The host is held for the tenant until then: it is paid for, and nothing is owed anew. */
  readonly heldUntil?: string;
  /** Why there is no host for it now. */
  readonly waits?: string;
}

/** Gives new leases their hosts one after the other, as the lease duty would, in a copy of the world in which each is taken. */
export class Grants {
  readonly #world: World;
  readonly #hosts: Map<string, Host> | undefined;

  constructor({ world, hosts }: Pick<CostFacts, 'world' | 'hosts'>) {
    this.#world = world;
    this.#hosts = hosts && new Map(hosts.map((host) => [host.metadata.name, host]));
  }

  next(lease: Lease): Granted {
    const { granted, host } = this.#judge(lease);
    if (host !== undefined) this.#take(lease, host);
    return granted;
  }

  /** What the next one would get, without taking it. */
  peek(lease: Lease): Granted {
    return this.#judge(lease).granted;
  }

  #judge(lease: Lease): { readonly granted: Granted; readonly host?: Host } {
    const prices = this.#world.get(PRICE_LISTS, undefined, 'default');
    const least = { rate: leastHostRate(lease.spec, prices), bound: 'atLeast' } as const;
    if (this.#hosts === undefined) return { granted: least };
    const decision = decideGrant(lease, this.#world, [...this.#hosts.values()]);
    if (decision.kind === 'wait') return { granted: { ...least, waits: decision.message } };
    const { host } = decision;
    const claim = takesOver(lease, host, this.#world) ? host.status?.lease : undefined;
    const given = { bound: 'exactly', host: host.metadata.name } as const;
    const granted =
      claim === undefined
        ? { ...given, rate: hostRate(host, prices) }
        : { ...given, rate: parseMicros(claim.pricePerHour), heldUntil: claim.earliestEnd ?? claim.since };
    return { granted, host };
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
}

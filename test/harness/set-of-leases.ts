import { type Identity, OPERATOR } from '../../apiserver/auth/identity.ts';
import { LEASE_SET_LABEL } from '../../resources/guards/lease-set.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import type { FleetWorld } from './fleet-world.ts';
import type { RawAnswer } from './raw.ts';

type Wish = Partial<LeaseSet['spec']>;

/** One LeaseSet of a story, `builders` of `acme` unless said otherwise. */
export class SetOfLeases {
  readonly #world: FleetWorld;
  readonly name: string;
  readonly namespace: string;

  constructor(world: FleetWorld, name = 'builders', namespace = 'acme') {
    this.#world = world;
    this.name = name;
    this.namespace = namespace;
  }

  asks(wish: Wish, as: Identity = OPERATOR): Promise<RawAnswer> {
    const spec = { template: { spec: {} }, ...wish };
    const body = { apiVersion: 'coppice.dev/v1', kind: 'LeaseSet', metadata: { name: this.name }, spec };
    return this.#world.request('POST', `namespaces/${this.namespace}/leasesets`, body, as);
  }

  patches(spec: object, as: Identity = OPERATOR): Promise<RawAnswer> {
    return this.#world.request('PATCH', this.#path, { spec }, as);
  }

  /** As `kubectl scale` does. */
  scales(replicas: number, as: Identity = OPERATOR): Promise<RawAnswer> {
    return this.#world.request('PATCH', `${this.#path}/scale`, { spec: { replicas } }, as);
  }

  deletes(propagationPolicy = 'Background', as: Identity = OPERATOR): Promise<RawAnswer> {
    return this.#world.request('DELETE', this.#path, { propagationPolicy }, as);
  }

  get #path(): string {
    return `namespaces/${this.namespace}/leasesets/${this.name}`;
  }

  get set(): LeaseSet | undefined {
    return this.#world.fleet.find<LeaseSet>(LeaseSet, this.name, this.namespace);
  }

  get status(): NonNullable<LeaseSet['status']> {
    return this.set?.status ?? {};
  }

  /** `2/3 +1 (Active)`: so many of so many wanted have a host, one is surplus. */
  get tells(): string {
    if (this.set === undefined) return 'gone';
    const { active = 0, wanted = '?', surplus = 0 } = this.status;
    return `${active}/${wanted}${surplus === 0 ? '' : ` +${surplus}`} (${this.ready?.reason ?? ''})`;
  }

  get ready() {
    return this.set && findCondition(this.set, 'Ready');
  }

  /** Its Leases, records and all, by name. */
  get leases(): readonly Lease[] {
    return this.#world.fleet
      .all<Lease>(Lease)
      .filter(
        ({ metadata }) => metadata.namespace === this.namespace && metadata.labels?.[LEASE_SET_LABEL] === this.name,
      )
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** Its Leases by phase: `2 Active, 1 Ended`. */
  get phases(): string {
    const counts = new Map<string, number>();
    for (const { status } of this.leases) {
      const phase = status?.phase ?? 'new';
      counts.set(phase, (counts.get(phase) ?? 0) + 1);
    }
    return [...counts]
      .sort()
      .map(([phase, count]) => `${count} ${phase}`)
      .join(', ');
  }

  async until(tells: string): Promise<void> {
    try {
      await this.#world.until(`${this.name} is ${tells}`, () => this.tells === tells);
    } catch (error) {
      throw new Error(`${(error as Error).message}; it is ${this.tells}: ${this.phases}; ${this.ready?.message}`);
    }
  }
}

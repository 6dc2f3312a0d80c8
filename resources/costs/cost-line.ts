import type { World } from '../guards/world.ts';
import type { Host } from '../kinds/host.ts';
import type { KubeObject } from '../meta/object.ts';
import type { Micros } from './money.ts';

/** How an amount stands to what it will be. */
export type Bound = 'exactly' | 'atLeast' | 'atMost' | 'about';

/** What one change costs; less than nothing is saved. */
export interface CostLine {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** An hour, on average over weeks. */
  readonly perHour: Micros;
  readonly bound: Bound;
  /** What is owed with the change itself, whatever comes after: the minimum of new leases. */
  readonly atOnce: Micros;
  /** Of `atOnce`; absent is exactly. */
  readonly atOnceBound?: Bound;
  /** From when on it counts, in RFC 3339; absent means at once. */
  readonly from?: string;
  /** One line for people: what the amounts are of. */
  readonly note: string;
}

/** The amounts of a line, without what they are of. */
export type Amounts = Omit<CostLine, 'kind' | 'namespace' | 'name'>;

/** An object that is made (no `before`), removed (no `after`) or changed. */
export interface ObjectChange<T extends KubeObject = KubeObject> {
  readonly before?: T | undefined;
  readonly after?: T | undefined;
}

/** What costs are reckoned by. */
export interface CostFacts {
  readonly nowMs: number;
  /** The fleet as it is, with the prices, the policy, the tenants and the images as they are going to be. */
  readonly world: World;
  /** Undefined: whoever asks may not see them. */
  readonly hosts: readonly Host[] | undefined;
  /** Whoever asks may not see all that tenants have. */
  readonly isPartial?: boolean;
  /** Namespaces that lease or hold a host, or are going to. */
  readonly lessees: ReadonlySet<string>;
}

/** The bound of a sum. */
export function boundOf(bounds: Iterable<Bound>): Bound {
  const all = new Set(bounds);
  all.delete('exactly');
  const [first = 'exactly'] = all;
  return all.size > 1 ? 'about' : first;
}

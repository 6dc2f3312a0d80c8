import { HOST_FILTERS, type HostFilter, type Wish } from '../guards/host-guard.ts';
import { POLICIES } from '../guards/refs.ts';
import { flexShare, microVCPUs } from '../guards/shares.ts';
import type { WorldView } from '../guards/world.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';

/** What is kept of a decision on the VM. */
export type Placement = NonNullable<NonNullable<VM['status']>['placement']>;
/** How many hosts each filter turned down, the most first. */
export type TurnedDown = NonNullable<Placement['turnedDown']>;

/** Why no host fits, counted while hosts are turned down. */
export class Explanation {
  readonly #wish: Wish;
  readonly #hosts: number;
  readonly #counts = new Map<HostFilter, number>();
  #largestFreeBytes = 0;
  #mostFreeMicro = 0;
  #neededMicro = 0;
  #largestVCPUs = 0;

  constructor(wish: Wish, hosts: number) {
    this.#wish = wish;
    this.#hosts = hosts;
  }

  count(filter: HostFilter, host: Host, world: WorldView): void {
    this.#counts.set(filter, (this.#counts.get(filter) ?? 0) + 1);
    const room = host.status?.allocatable;
    const use = world.hostUse(host.metadata.name);
    if (filter === 'InsufficientMemory') {
      const free = (parseBytes(room?.memory ?? '0') ?? 0) - use.memoryBytes;
      this.#largestFreeBytes = Math.max(this.#largestFreeBytes, free);
    }
    if (filter === 'InsufficientVCPUs') {
      const { vm, resolved } = this.#wish;
      const share = flexShare(world.get(POLICIES, undefined, 'default'), host.spec.group);
      this.#neededMicro = Math.max(this.#neededMicro, microVCPUs(resolved.vcpus, vm.spec.class, share));
      this.#mostFreeMicro = Math.max(this.#mostFreeMicro, (room?.vcpus ?? 0) * 1_000_000 - use.microVCPUs);
      this.#largestVCPUs = Math.max(this.#largestVCPUs, room?.vcpus ?? 0);
    }
  }

  get turnedDown(): TurnedDown {
    return this.#ranked().map(([reason, hosts]) => ({ reason, hosts }));
  }

  /**
   * The filter that decides, and one line with all the counts. Filters are asked in order, so the hosts that came furthest are those that come nearest to
   * fitting: what turned them down is what to change.
   */
  told(): { readonly reason: string; readonly message: string } {
    const ranked = this.#ranked();
    const [first] = ranked;
    if (first === undefined) return { reason: 'NoHosts', message: '0 of 0 hosts fit: no host has joined yet' };
    const counts = ranked.map(([filter, count]) => `${count} ${filter}${this.#detail(filter)}`);
    return { reason: first[0], message: `0 of ${this.#hosts} hosts fit: ${counts.join(', ')}` };
  }

  #ranked(): readonly (readonly [HostFilter, number])[] {
    return [...this.#counts].sort(([a], [b]) => HOST_FILTERS.indexOf(b) - HOST_FILTERS.indexOf(a));
  }

  #detail(filter: HostFilter): string {
    const { resolved } = this.#wish;
    if (filter === 'InsufficientMemory') {
      const needed = parseBytes(resolved.memory) ?? 0;
      return ` (largest free ${roughBytes(this.#largestFreeBytes)}, needs ${roughBytes(needed)})`;
    }
    if (filter !== 'InsufficientVCPUs') return '';
    if (resolved.vcpus > this.#largestVCPUs) return ` (largest host ${this.#largestVCPUs}, needs ${resolved.vcpus})`;
    return ` (most free ${this.#mostFreeMicro / 1e6} guaranteed, needs ${this.#neededMicro / 1e6})`;
  }
}

import { fateOf } from '../guards/drain-fate.ts';
import { hostRefusal, type Wish } from '../guards/host-guard.ts';
import { HOSTS, VMS } from '../guards/refs.ts';
import { hostShareOf } from '../guards/shares.ts';
import { standingRefusal } from '../guards/tenant-standing.ts';
import { resolveVM } from '../guards/vm-admission.ts';
import type { World } from '../guards/world.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { isTrue } from '../meta/condition.ts';
import { objectKey } from '../meta/object.ts';
import { parseBytes } from '../meta/quantity.ts';
import { isPaidFor } from './decide.ts';

export interface RebalanceLimits {
  /** Part of a host's memory, above 0 and up to 1, that is not to be passed. */
  readonly highWater: number;
  readonly maxMoves: number;
}

/** A VM that would be started elsewhere. */
export interface Move {
  /** NAMESPACE/NAME. */
  readonly vm: string;
  readonly from: string;
  readonly to: string;
  readonly memoryBytes: number;
  /** Reschedule: a drain of the host would move it. Evict: it is ephemeral, and whoever has it made makes it again. */
  readonly how: 'Reschedule' | 'Evict';
}

export interface RebalancePlan {
  readonly moves: readonly Move[];
  /** Every host that has memory for guests, by name; what guests hold of it, in bytes. */
  readonly hosts: readonly {
    readonly host: string;
    readonly memoryBytes: number;
    readonly beforeBytes: number;
    readonly afterBytes: number;
  }[];
  /** Hosts that stay above the mark, and why. */
  readonly left: readonly { readonly host: string; readonly message: string }[];
}

/** Above all revisions that a world is of, so that what is assumed here, and only that, is dropped again. */
const ASSUMED = Number.MAX_SAFE_INTEGER;

/**
 * Moves that bring hosts whose guests hold more memory than the mark back to it, the fullest host first, and no other past it. As few moves as will do: the
 * smallest VM whose going is enough, else the largest. Each is judged as placement would judge it, in the world as it is after those before it. A host that
 * cannot be brought to the mark is left as it is, unless it is the number of moves that ends it. The world is left as it was.
 *
 * Only VMs that said so are moved: those that may be rescheduled, and ephemeral ones. And none goes from a host that its tenant pays for to one it does not.
 */
export function planMoves(world: World, limits: RebalanceLimits): RebalancePlan {
  const hosts = [...world.list(HOSTS)].filter((host) => memoryOf(host) > 0).sort(byName);
  const before = new Map(hosts.map((host) => [host, usedOf(host, world)]));
  try {
    const [moves, left]: [Move[], { host: string; message: string }[]] = [[], []];
    const above = hosts.filter((host) => excessOf(host, world, limits) > 0 && isTrue(host, 'Ready'));
    for (const host of above.sort((a, b) => fillOf(b, world) - fillOf(a, world))) {
      const { moves: found, message } = relieve(host, hosts, world, limits, limits.maxMoves - moves.length);
      moves.push(...found);
      if (message !== undefined) left.push({ host: host.metadata.name, message });
    }
    const told = hosts.map((host) => ({
      host: host.metadata.name,
      memoryBytes: memoryOf(host),
      beforeBytes: before.get(host) ?? 0,
      afterBytes: usedOf(host, world),
    }));
    return { moves, hosts: told, left };
  } finally {
    world.dropFrom(ASSUMED);
  }
}

/** Moves that bring one host to the mark; none where that cannot be. */
function relieve(
  host: Host,
  hosts: readonly Host[],
  world: World,
  limits: RebalanceLimits,
  most: number,
): { readonly moves: readonly Move[]; readonly message?: string } {
  const moved: { readonly vm: VM; readonly move: Move }[] = [];
  const moves = () => moved.map(({ move }) => move);
  while (excessOf(host, world, limits) > 0) {
    if (moved.length >= most) return { moves: moves(), message: `more than ${limits.maxMoves} moves would be needed` };
    const candidates = [...world.list(VMS)].filter((vm) => vm.spec.hostName === host.metadata.name);
    const wishes = candidates.flatMap((vm) => wishOf(vm, world) ?? []);
    const next = nextMove(wishes, host, hosts, world, limits);
    if (next === undefined) {
      for (const { vm } of moved) world.assume(VMS, objectKey(vm.metadata), vm, ASSUMED);
      return { moves: [], message: whyNone(candidates, wishes, limits) };
    }
    moved.push(next);
  }
  return { moves: moves() };
}

/** What a VM would be when it is made again; undefined for one that is not to be moved, or could not be made. */
function wishOf(vm: VM, world: World): Wish | undefined {
  if (howToMove(vm) === undefined || (hostShareOf(vm, world)?.memoryBytes ?? 0) === 0) return undefined;
  if (standingRefusal(vm.metadata.namespace ?? '', world) !== undefined) return undefined;
  const { resolved: _, ...spec } = vm.spec;
  const resolved = resolveVM({ ...vm, spec }, world);
  return 'digest' in resolved ? { vm, resolved } : undefined;
}

/** Undefined: it stays. */
function howToMove(vm: VM): Move['how'] | undefined {
  if (vm.metadata.deletionTimestamp !== undefined) return undefined;
  const fate = fateOf(vm, 'Reschedule');
  return fate === 'keep' ? undefined : fate === 'move' ? 'Reschedule' : 'Evict';
}

function nextMove(
  wishes: readonly Wish[],
  from: Host,
  hosts: readonly Host[],
  world: World,
  limits: RebalanceLimits,
): { readonly vm: VM; readonly move: Move } | undefined {
  const excess = excessOf(from, world, limits);
  const sized = wishes.map((wish) => ({ wish, bytes: hostShareOf(wish.vm, world)?.memoryBytes ?? 0 }));
  const named = sized.sort((a, b) => (keyOf(a.wish) < keyOf(b.wish) ? -1 : 1));
  const enough = named.filter(({ bytes }) => bytes >= excess).toSorted((a, b) => a.bytes - b.bytes);
  const less = named.filter(({ bytes }) => bytes < excess).toSorted((a, b) => b.bytes - a.bytes);
  for (const { wish, bytes } of [...enough, ...less]) {
    const to = targetOf(wish, from, hosts, world, limits);
    if (to === undefined) continue;
    const { vm, resolved } = wish;
    const there: VM = { ...vm, spec: { ...vm.spec, hostName: to.metadata.name, resolved } };
    world.assume(VMS, objectKey(vm.metadata), there, ASSUMED);
    const how = howToMove(vm) ?? 'Evict';
    const move = { vm: keyOf(wish), from: from.metadata.name, to: to.metadata.name, memoryBytes: bytes, how };
    return { vm, move };
  }
  return undefined;
}

/** The host that would be the least full of those that take the VM and stay below the mark. */
function targetOf(
  wish: Wish,
  from: Host,
  hosts: readonly Host[],
  world: World,
  limits: RebalanceLimits,
): Host | undefined {
  const bytes = parseBytes(wish.resolved.memory) ?? 0;
  const fillWith = (host: Host) => (usedOf(host, world) + bytes) / memoryOf(host);
  return hosts
    .filter((host) => host !== from && (!isPaidFor(from, wish.vm, world) || isPaidFor(host, wish.vm, world)))
    .filter((host) => fillWith(host) <= limits.highWater && hostRefusal(wish, host, world) === undefined)
    .sort((a, b) => fillWith(a) - fillWith(b))[0];
}

function whyNone(candidates: readonly VM[], wishes: readonly Wish[], { highWater }: RebalanceLimits): string {
  const fixed = candidates.filter((vm) => howToMove(vm) === undefined).length;
  const besides = fixed === 0 ? '' : `; ${fixed} of its VMs are neither reschedulable nor ephemeral, and stay`;
  if (wishes.length === 0) return `none of its ${candidates.length} VMs can be started elsewhere${besides}`;
  return `the other hosts that may take its VMs would pass ${percent(highWater)} before it is below${besides}`;
}

/** Such as `85%`. */
export function percent(part: number): string {
  return `${Math.round(part * 1000) / 10}%`;
}

const keyOf = ({ vm }: Wish) => objectKey(vm.metadata);
const byName = (a: Host, b: Host) => (a.metadata.name < b.metadata.name ? -1 : 1);
const memoryOf = (host: Host) => parseBytes(host.status?.allocatable?.memory ?? '0') ?? 0;
const usedOf = (host: Host, world: World) => world.hostUse(host.metadata.name).memoryBytes;
const fillOf = (host: Host, world: World) => usedOf(host, world) / memoryOf(host);
const excessOf = (host: Host, world: World, { highWater }: RebalanceLimits) =>
  usedOf(host, world) - highWater * memoryOf(host);

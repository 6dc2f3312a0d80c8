import { hostRefusal, type Wish } from '../guards/host-guard.ts';
import { isLessee } from '../guards/lessee.ts';
import { vmQuota } from '../guards/tenant-guard.ts';
import { standingRefusal } from '../guards/tenant-standing.ts';
import { resolveVM } from '../guards/vm-admission.ts';
import { volumesWait } from '../guards/vm-volumes.ts';
import type { WorldView } from '../guards/world.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { parseBytes } from '../meta/quantity.ts';
import { type Claim, chooseMember, type IdleMembers, idleMembersOf } from './claim.ts';
import { Explanation, type Placement } from './explanation.ts';

/** Enough hosts that fit: looking further would not make a better choice, only a later one. */
export const ENOUGH_FEASIBLE = 50;

export interface Bind {
  readonly kind: 'bind';
  readonly host: string;
  /** Above that of any earlier binding. */
  readonly epoch: number;
  readonly resolved: Wish['resolved'];
  /** The member of a pool whose guest it takes there. */
  readonly member?: VM;
  /** Why it is this host. */
  readonly placement: Placement;
}

export interface Wait {
  readonly kind: 'wait';
  /** What stands in the way: a reason of admission, a quota, or the filter that turned down the hosts that came furthest. */
  readonly reason: string;
  /** One line with the numbers. */
  readonly message: string;
  /** What the hosts were turned down for; undefined: no host was looked at. */
  readonly placement?: Placement;
}

/**
 * Where a VM goes: to a warm guest of a pool that it may take, else to a host. The filter is the guard the server binds by, so what is decided here holds there unless the world moved. Hosts that the
 * tenant leases come before others, since they are paid for; then the fullest by memory that still fits, so that empty hosts stay whole for
 * large VMs; then the name. `hosts` are looked at from `startAt` on and round.
 */
export function decide(
  vm: VM,
  world: WorldView,
  hosts: readonly Host[],
  startAt = 0,
  idle: IdleMembers = idleMembersOf(world),
): Bind | Wait {
  const standing = standingRefusal(vm.metadata.namespace ?? '', world);
  if (standing !== undefined) return { kind: 'wait', reason: standing.cause ?? 'Forbidden', message: standing.message };
  const resolved = vm.spec.resolved ?? resolveVM(vm, world);
  if (!('digest' in resolved)) return { kind: 'wait', ...resolved };
  const volumes = volumesWait(vm, world);
  if (volumes !== undefined) return { kind: 'wait', reason: volumes.filter, message: volumes.message };
  const wanted: VM = { ...vm, spec: { ...vm.spec, resolved } };
  const refusal = vmQuota.judge({ before: vm, after: wanted }, world);
  if (refusal !== undefined) return { kind: 'wait', reason: refusal.cause ?? 'Forbidden', message: refusal.message };

  const wish: Wish = { vm: wanted, resolved };
  const claim = chooseMember(wish, world, idle);
  if (claim !== undefined) return takeOver(claim, resolved);
  const explanation = new Explanation(wish, hosts.length);
  const fitting = fittingHosts(wish, world, hosts, startAt, explanation);
  const best = bestOf(fitting, world);
  const { turnedDown } = explanation;
  const counts = { fitting: fitting.length, ...(turnedDown.length === 0 ? {} : { turnedDown }) };
  if (best === undefined) return { kind: 'wait', ...explanation.told(), placement: counts };
  const host = best.metadata.name;
  const why = isPaidFor(best, vm, world) ? 'PaidFor' : 'Fullest';
  return { kind: 'bind', host, epoch: (vm.spec.epoch ?? 0) + 1, resolved, placement: { host, why, ...counts } };
}

/** The binding of the member is kept: it is the one its guest was made for. */
function takeOver({ member, pool, hosts }: Claim, resolved: Wish['resolved']): Bind {
  const { hostName: host = '', epoch = 1 } = member.spec;
  return { kind: 'bind', host, epoch, resolved, member, placement: { host, why: 'Claimed', pool, fitting: hosts } };
}

function fittingHosts(
  wish: Wish,
  world: WorldView,
  hosts: readonly Host[],
  startAt: number,
  explanation: Explanation,
): readonly Host[] {
  const fitting: Host[] = [];
  const consider = (host: Host) => {
    const refusal = hostRefusal(wish, host, world);
    if (refusal === undefined) fitting.push(host);
    else explanation.count(refusal.filter, host, world);
  };
  const leased = hosts.filter((host) => isPaidFor(host, wish.vm, world));
  for (const host of leased) consider(host);
  // Any host of the tenant's own beats every other, so if one fits the rest need no look.
  if (fitting.length > 0) return fitting;
  for (let n = 0; n < hosts.length && fitting.length < ENOUGH_FEASIBLE; n++) {
    const host = hosts[(startAt + n) % hosts.length];
    if (host !== undefined && !isPaidFor(host, wish.vm, world)) consider(host);
  }
  return fitting;
}

function bestOf(fitting: readonly Host[], world: WorldView): Host | undefined {
  return fitting
    .map((host) => ({ host, free: freeMemory(host, world) }))
    .sort((a, b) => a.free - b.free || (a.host.metadata.name < b.host.metadata.name ? -1 : 1))[0]?.host;
}

/** Whether the tenant of a VM pays for the host anyway. */
export function isPaidFor(host: Host, vm: VM, world: WorldView): boolean {
  return isLessee(host, vm.metadata.namespace ?? '', world);
}

/** Memory of the host that no guest holds, in bytes. */
function freeMemory(host: Host, world: WorldView): number {
  const all = parseBytes(host.status?.allocatable?.memory ?? '0') ?? 0;
  return all - world.hostUse(host.metadata.name).memoryBytes;
}

/** VMs that this answers alike for get the same answer in one pass, so that ten thousand that wait cost as much as their kinds. */
export function likeness(vm: VM): string {
  const { image, size, class: vmClass, power, hostSelector, volumes, resolved } = vm.spec;
  return JSON.stringify([vm.metadata.namespace, image, size, vmClass, power, hostSelector, volumes, resolved]);
}

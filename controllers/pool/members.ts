import { type HostFilter, hostRefusal } from '../../resources/guards/host-guard.ts';
import { isIdle, shapeOf } from '../../resources/guards/pool-members.ts';
import { HOSTS } from '../../resources/guards/refs.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { jsonEqual } from '../../resources/meta/object.ts';

/**
 * What a member is to its pool. `ready`: up, and as the pool wants it. `warming`: on the way there. `waiting`: it has no host, and placement said why; `cramped`: that is
 * since none has room for it. `outdated`: not what the pool wants any more, or not where it may be taken. `silent`: nobody hears of it. `failed`: it will not come up, or went off.
 * `going`: it is being deleted.
 */
export type MemberState = 'ready' | 'warming' | 'waiting' | 'cramped' | 'outdated' | 'silent' | 'failed' | 'going';

/** Filters of a host that speak of whether its guests may be taken; what it has no room for now is no matter to a guest that is there. */
const NO_ROOM: ReadonlySet<string> = new Set<HostFilter>(['MacSlotLimit', 'InsufficientMemory', 'InsufficientVCPUs']);
const STAYS: ReadonlySet<string> = new Set<string>(['NotReady', ...NO_ROOM]);

/** `wanted`: a member as it would be made now. */
export function stateOf(member: VM, wanted: VM, world: WorldView): MemberState {
  const { metadata, spec } = member;
  if (metadata.deletionTimestamp !== undefined) return 'going';
  if (hasFailed(member)) return 'failed';
  if (isOutdated(member, wanted, world)) return 'outdated';
  if (isIdle(member)) return isHeard(member, world) ? 'ready' : 'silent';
  if (findCondition(member, 'Ready')?.status === 'Unknown') return 'silent';
  const scheduled = spec.hostName === undefined ? findCondition(member, 'Scheduled') : undefined;
  if (scheduled?.status !== 'False') return 'warming';
  return NO_ROOM.has(scheduled.reason) ? 'cramped' : 'waiting';
}

function hasFailed({ status }: VM): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Interrupted') return true;
  // It shut itself down, and wants to stay so.
  return status?.phase === 'Stopped' && status.guest?.power === 'Off';
}

function isOutdated(member: VM, wanted: VM, world: WorldView): boolean {
  const { image, hostSelector, hostName, power, resolved } = member.spec;
  if (image !== wanted.spec.image || !jsonEqual(hostSelector, wanted.spec.hostSelector)) return true;
  // Somebody had it stop: it is not warm, and whoever took it would have to start it.
  if (power !== 'Running') return true;
  if (resolved === undefined || wanted.spec.resolved === undefined) return false;
  if (shapeOf(member) !== shapeOf(wanted)) return true;
  const host = hostName === undefined ? undefined : world.get(HOSTS, undefined, hostName);
  const refusal = host && hostRefusal({ vm: member, resolved }, host, world);
  return refusal !== undefined && !STAYS.has(refusal.filter);
}

/** Whether a claim may be made on its host. */
function isHeard({ spec }: VM, world: WorldView): boolean {
  const host = world.get(HOSTS, undefined, spec.hostName ?? '');
  return host !== undefined && findCondition(host, 'Ready')?.status === 'True';
}

/** Why a member failed, for people. */
export function failureOf(member: VM): string {
  return findCondition(member, 'Ready')?.message ?? 'its guest went off';
}

import type { StatusFields } from '../controllers/runtime/write.ts';
import { rfc3339 } from '../resources/ambient/clock.ts';
import type { VM } from '../resources/kinds/vm.ts';
import { type Condition, setConditions } from '../resources/meta/condition.ts';
import type { ObservedGuest } from './drivers/driver.ts';
import { isOn } from './guest-room.ts';
import { labelOf } from './guest-spec.ts';
import { type Cell, epochOf, type Phase } from './plan.ts';

/** Why the plan's action is not taken now. */
export interface Hold {
  readonly phase: Phase;
  readonly reason: string;
  readonly message: string;
  /** When to look again, in milliseconds; undefined = when something changes. */
  readonly retryMs?: number;
}

interface Report {
  readonly vm: VM;
  readonly guest: ObservedGuest | undefined;
  readonly cell: Cell;
  readonly hold: Hold | undefined;
  readonly host: string;
  /** Of its Host; undefined while there is none. */
  readonly hostUID: string | undefined;
  readonly nowMs: number;
}

type ConditionWish = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;

/**
 * The status of a VM as its nodelet sees it. Until a VM is bound placement writes its status; from the binding on only its nodelet does, so condition
 * Scheduled changes hands too: the nodelet sets it with its first report and restamps it after. While the nodelet is not heard, or its Host is gone, Ready is
 * host-liveness' to say (HostUnreachable, HostLost, the latter with phase Failed); whatever stands there, the nodelet takes it back by reporting. Conditions
 * of others are kept. Pure; depends on the time only for conditions that flip, so the same world gives the same status.
 */
export function vmStatus(report: Report): StatusFields<VM> {
  const { vm, guest, cell, hold, host, hostUID, nowMs } = report;
  const on = guest !== undefined && isOn(guest);
  return {
    phase: hold?.phase ?? cell.phase,
    host,
    hostUID: hostUID ?? vm.status?.hostUID,
    guest: guestField(report),
    addresses: on && guest.addresses.length > 0 ? [...guest.addresses].sort() : undefined,
    ...cameUp(vm, guest),
    agent: on ? agentOf(guest) : undefined,
    observedGeneration: vm.metadata.generation,
    conditions: setConditions(vm, nowMs, [
      { type: 'Scheduled', status: 'True', reason: 'Bound', message: `bound to host ${host}` },
      ready(report),
      agentReady(guest),
    ]),
  };
}

interface CameUp {
  readonly startedFrom: 'cold' | 'pool' | undefined;
  readonly startedAt: string | undefined;
}

/**
 * How and when it came up last. A guest that was made for another was up when this VM took it, and came up for this VM then; until it starts again, which
 * its driver tells by another instant, and what was told of it last.
 */
function cameUp(vm: VM, guest: ObservedGuest | undefined): CameUp {
  const { startedFrom, startedAt } = vm.status ?? {};
  const at = guest?.startedAt === undefined ? undefined : rfc3339(guest.startedAt);
  const kept = { startedFrom: guest?.startedFrom ?? startedFrom, startedAt: at ?? startedAt };
  const taken = vm.spec.fromPool?.at;
  if (taken === undefined || guest === undefined || guest.label === labelOf(vm)) return kept;
  const cameThen = at !== undefined && at > taken ? at : taken;
  const wasOff = isOn(guest) && vm.status?.guest?.power === 'Off';
  const stillThat = startedAt === undefined || (startedFrom === 'pool' && startedAt === cameThen && !wasOff);
  return stillThat ? { startedFrom: 'pool', startedAt: cameThen } : kept;
}

function guestField({ vm, guest, cell }: Report): NonNullable<VM['status']>['guest'] {
  // The guest of another binding is not this object's to tell of.
  if (cell.reason === 'NewerGuest') return vm.status?.guest;
  const before = vm.status?.guest;
  if (guest !== undefined) {
    // What one that is paused gave back of the quota may be another's by now: it is told of as paused until it is off.
    const wasPaused = guest.power === 'Stopping' && before?.power === 'Paused' && before.id === guest.id;
    return { id: guest.id, power: wasPaused ? 'Paused' : guest.power, epoch: guest.epoch };
  }
  if (before !== undefined) return { ...before, power: 'Gone' };
  if (cell.action !== 'release') return undefined;
  return { id: vm.spec.guestID ?? vm.metadata.uid, power: 'Gone', epoch: epochOf(vm) };
}

function agentOf(guest: ObservedGuest): 'Ready' | 'Waiting' | 'None' {
  if (guest.agentReady === undefined) return 'None';
  return guest.agentReady ? 'Ready' : 'Waiting';
}

function agentReady(guest: ObservedGuest | undefined): ConditionWish {
  const say = (status: Condition['status'], reason: string, message: string): ConditionWish => ({
    type: 'AgentReady',
    status,
    reason,
    message,
  });
  if (guest === undefined || !isOn(guest)) return say('False', 'NotRunning', 'the guest does not run');
  if (guest.problem?.reason === 'AgentLost') return say('False', 'AgentLost', guest.problem.message);
  if (guest.agentReady === undefined) return say('Unknown', 'NoAgent', 'the image has no agent');
  return guest.agentReady
    ? say('True', 'AgentAnswered', 'the agent in the guest answers')
    : say('False', 'AgentWaiting', 'the agent in the guest has not answered yet');
}

function ready({ vm, guest, cell, hold }: Report): ConditionWish {
  const no = (reason: string, message: string): ConditionWish => ({ type: 'Ready', status: 'False', reason, message });
  if (hold !== undefined) return no(hold.reason, hold.message);
  if (cell.phase !== 'Running' || guest === undefined) return no(cell.reason, sentence(cell.reason, vm, guest));
  if (guest.problem !== undefined) return no(guest.problem.reason, guest.problem.message);
  if (guest.agentReady === false) return no('AgentWaiting', 'the guest runs; its agent has not answered yet');
  return { type: 'Ready', status: 'True', reason: 'Running', message: 'the guest runs' };
}

const AGAIN = 'set power to Stopped, then to Running, to start it again';

function sentence(reason: string, vm: VM, guest: ObservedGuest | undefined): string {
  const words = guest?.message === undefined ? '' : `: ${guest.message}`;
  switch (reason) {
    case 'GuestCrashed':
      return `the guest died${words}; ${AGAIN}`;
    case 'HostRebooted':
      return `the host was restarted under the guest${words}; ${AGAIN}`;
    case 'GuestShutdown':
      return `the guest shut itself down; ${AGAIN}`;
    case 'GuestLost':
      return 'nothing is left of the guest on its host, its disk included; delete the VM';
    case 'NewerGuest':
      return `the guest belongs to binding ${guest?.epoch ?? 0}, this object is binding ${epochOf(vm)}`;
    case 'OlderGuest':
      return `the guest belongs to binding ${guest?.epoch ?? 0}; it is stopped before binding ${epochOf(vm)} starts`;
    case 'NotStarted':
      return 'a guest that does not run cannot be paused; set power to Running first';
    case 'StartFailed':
      return `the guest did not start${words}`;
    default:
      return SENTENCES[reason] ?? reason;
  }
}

const SENTENCES: Readonly<Record<string, string>> = {
  Creating: 'the guest is being made',
  Starting: 'the guest is starting',
  Stopping: 'the guest is stopping',
  Stopped: 'the guest is off, as asked',
  Pausing: 'the guest is being paused',
  Paused: 'the guest is paused, as asked',
  Resuming: 'the guest is being resumed',
  Deleting: 'the guest is being removed',
};

import type { Host } from '../../resources/kinds/host.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { type Condition, findCondition, isTrue, setConditions } from '../../resources/meta/condition.ts';
import { firstOf } from '../../resources/meta/first-of.ts';
import type { Wait } from '../../resources/placement/decide-grant.ts';
import type { StatusFields } from '../runtime/write.ts';

type Told = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;

const NAMES_SHOWN = 5;
const CLOCK_SUSPECT = 'ClockSuspect';

/** The status of a lease that waits for a host. */
export function waitingStatus(lease: Lease, { reason, message, waiting }: Wait, nowMs: number): StatusFields<Lease> {
  return {
    phase: 'Pending',
    waiting: waiting.length === 0 ? undefined : waiting,
    ...told(lease, nowMs, [
      { type: 'Granted', status: 'False', reason, message },
      { type: 'Ready', status: 'False', reason, message },
    ]),
  };
}

/** The status that gives a lease its host; the instants and the price are the server's to fill in. */
export function grantStatus(lease: Lease, host: Host, nowMs: number): StatusFields<Lease> {
  const { name } = host.metadata;
  return {
    phase: 'Active',
    host: name,
    waiting: undefined,
    ...told(lease, nowMs, [
      granted(name),
      { type: 'Ready', status: 'True', reason: 'Active', message: `has ${name}` },
      inUse(lease, name, false),
    ]),
  };
}

const granted = (host: string): Told => ({
  type: 'Granted',
  status: 'True',
  reason: 'Granted',
  message: `host ${host} was given`,
});

/** Whether VMs of the lessee are on the host; since when, the condition says. */
function inUse({ metadata }: Lease, host: string, used: boolean): Told {
  const type = 'InUse';
  if (used) return { type, status: 'True', reason: 'HasVMs', message: `VMs of ${metadata.namespace} are on ${host}` };
  return { type, status: 'False', reason: 'NoVM', message: `no VM of ${metadata.namespace} is on ${host}` };
}

/** What is known of the host of a lease. */
interface Standing {
  /** Undefined: it is gone. */
  readonly host: Host | undefined;
  /** Whether VMs of the lessee are on it. */
  readonly used: boolean;
}

/** The status of a lease that has its host. */
export function activeStatus(lease: Lease, { host, used }: Standing, suspect: string | undefined, nowMs: number) {
  return told(lease, nowMs, [
    granted(lease.status?.host ?? ''),
    readyOf(lease, host),
    inUse(lease, lease.status?.host ?? '', used),
    ...clockCondition(lease, suspect),
  ]);
}

function readyOf({ status = {} }: Lease, host: Host | undefined): Told {
  const name = status.host ?? '';
  const until = status.endsAt ?? 'it is released';
  const type = 'Ready';
  if (host === undefined) {
    const message = `host ${name} (uid ${status.hostUID}) is gone; a host made anew under that name is another one. It ends at ${until}`;
    return { type, status: 'False', reason: 'HostGone', message };
  }
  if (isTrue(host, 'Ready')) return { type, status: 'True', reason: 'Active', message: `has ${name} until ${until}` };
  if (findCondition(host, 'Ready')?.status === 'False')
    return { type, status: 'False', reason: 'HostNotReady', message: `host ${name} is not ready` };
  const message = `host ${name} is not heard; it stays leased until ${until}, and nobody else has it meanwhile`;
  return { type, status: 'Unknown', reason: 'HostSilent', message };
}

/** The status of a lease that is over, while VMs of its lessee are on the host. */
export function endingStatus(lease: Lease, vms: readonly VM[], nowMs: number): StatusFields<Lease> {
  const names = vms.map((vm) => vm.metadata.name).sort();
  const message = `waits until ${names.length === 1 ? 'the guest of 1 VM is' : `the guests of ${names.length} VMs are`} gone from ${lease.status?.host}: ${firstOf(names, NAMES_SHOWN)}`;
  return {
    phase: 'Ending',
    ...told(lease, nowMs, [
      { type: 'Ready', status: 'False', reason: 'Ending', message },
      ...clockCondition(lease, undefined),
    ]),
  };
}

/** The status of a lease that has ended, and lets its host go. */
export function endedStatus(lease: Lease, nowMs: number): StatusFields<Lease> {
  const message = lease.status?.host === undefined ? 'released before it had a host' : 'it is over, and a record';
  return {
    phase: 'Ended',
    waiting: undefined,
    ...told(lease, nowMs, [
      { type: 'Ready', status: 'False', reason: 'Ended', message },
      ...(findCondition(lease, 'InUse') === undefined
        ? []
        : [{ type: 'InUse', status: 'False', reason: 'Ended', message: 'it is over' } as const]),
    ]),
  };
}

/** Only a lease whose end hangs on it tells of it; and once it is right again, it says so. */
function clockCondition(lease: Lease, suspect: string | undefined): readonly Told[] {
  const type = CLOCK_SUSPECT;
  if (suspect !== undefined) return [{ type, status: 'True', reason: 'ClocksDiffer', message: suspect }];
  const said = findCondition(lease, type);
  if (said === undefined) return [];
  return [{ type, status: 'False', reason: 'ClocksAgree', message: 'the clocks agree again' }];
}

function told(lease: Lease, nowMs: number, conditions: readonly Told[]) {
  return { observedGeneration: lease.metadata.generation, conditions: setConditions(lease, nowMs, conditions) };
}

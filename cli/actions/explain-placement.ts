import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { counted } from '../../resources/meta/counted.ts';
import { type Replay, replay } from '../../resources/placement/replay.ts';
import type { Target } from '../coppice-command.ts';
import { type Io, printLine } from '../io.ts';
import { type FleetRead, readFleet } from '../read-fleet.ts';
import { renderJson } from '../render/json.ts';
import { renderTable } from '../render/table.ts';
import { openSession, type Session } from '../session.ts';
import { VMS } from '../vm-ref.ts';
import { moveOf, uncordonStep, volumeStep } from './placement-help.ts';
import { nextStep } from './placement-steps.ts';

/** What is known of where a VM is or why it waits. */
interface Explained {
  /** NAMESPACE/NAME. */
  readonly vm: string;
  readonly state: 'Bound' | 'Waiting' | 'Leaving';
  readonly host?: string;
  /** What placement wrote on it last; absent: it has not looked at it yet. */
  readonly stored?: Stored;
  /** What it would say now; absent for whoever may not see hosts. */
  readonly now?: Replay;
  /** What the drain of its host makes of it, where it is moved. */
  readonly move?: string;
  /** What may help, where it waits. */
  readonly next?: string;
}

interface Stored {
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
  readonly placement?: NonNullable<VM['status']>['placement'];
}

/** Tells of every host whether a VM fits, what stands in the way, and what may help. */
export async function explainPlacement(
  io: Io,
  target: Target,
  { name, json }: { readonly name: string; readonly json: boolean },
): Promise<void> {
  await using session = await openSession(io, target);
  const vm = await session.client.resource<VM>(VMS, session.namespace).get(name, io.signal);
  const fleet = await readFleet(session.client, io.signal);
  const explained = await withHelp(explainedOf(vm, fleet && replay(vm, fleet.world, fleet.hosts)), vm, session, fleet);
  if (json) io.stdout.write(renderJson(explained));
  else printExplained(io, explained);
}

function explainedOf(vm: VM, now: Replay | undefined): Explained {
  const { namespace = '', name } = vm.metadata;
  const host = vm.spec.hostName;
  const leaving = vm.metadata.deletionTimestamp !== undefined;
  const state = leaving ? 'Leaving' : host === undefined ? 'Waiting' : 'Bound';
  const stored = storedOf(vm);
  const reason = now?.decision?.kind === 'wait' ? now.decision.reason : stored?.reason;
  const fits = now?.decision?.kind === 'bind';
  const next = state === 'Waiting' && !fits && reason !== undefined ? nextStep(reason, vm, now) : undefined;
  return {
    vm: `${namespace}/${name}`,
    state,
    ...(host === undefined ? {} : { host }),
    ...(stored === undefined ? {} : { stored }),
    ...(now === undefined ? {} : { now }),
    ...(next === undefined ? {} : { next }),
  };
}

/** What is known beyond what the filters say: of its volumes, of hosts that are only cordoned, and of the drain of its host. */
async function withHelp(
  explained: Explained,
  vm: VM,
  session: Session,
  fleet: FleetRead | undefined,
): Promise<Explained> {
  const { state, now, stored } = explained;
  if (state === 'Bound') {
    const move = await moveOf(vm, session, fleet);
    return move === undefined ? explained : { ...explained, move: move.now, ...(move.next && { next: move.next }) };
  }
  if (state !== 'Waiting' || now?.decision?.kind === 'bind') return explained;
  const reason = now?.decision?.reason ?? stored?.reason;
  const known = reason === 'VolumeNotReady' ? await volumeStep(vm, session) : fleet && uncordonStep(vm, fleet);
  return known === undefined ? explained : { ...explained, next: known };
}

function storedOf(vm: VM): Stored | undefined {
  const scheduled = findCondition(vm, 'Scheduled');
  if (scheduled === undefined) return undefined;
  const { reason, message, lastTransitionTime: since } = scheduled;
  const placement = vm.status?.placement;
  return {
    reason,
    message,
    ...(since === undefined ? {} : { since }),
    ...(placement === undefined ? {} : { placement }),
  };
}

function printExplained(io: Io, explained: Explained): void {
  const { vm, state, host, stored, now, next } = explained;
  const states = { Bound: `is bound to ${host}`, Waiting: 'waits for a host', Leaving: 'is being deleted' };
  printLine(io, `VM ${vm} ${states[state]}.`);
  if (now !== undefined && now.hosts.length > 0) {
    const rows = atOnce(now.hosts).map(({ host: each, refusal, own, paidFor }) => [
      each,
      refusal === undefined ? 'yes' : 'no',
      refusal?.filter ?? (own ? 'it is here' : paidFor ? 'its tenant leases it' : ''),
      refusal?.message ?? '',
    ]);
    io.stdout.write(`\n${renderTable(['Host', 'Fits', 'Why', ''], rows)}`);
  }
  printLine(io, '');
  printLine(io, `Now:    ${nowText(explained)}`);
  if (stored !== undefined) printLine(io, `Stored: ${storedText(stored)}`);
  if (next !== undefined) printLine(io, `Next:   ${next}`);
}

/** What turns all hosts down alike is told once. */
function atOnce(hosts: Replay['hosts']): Replay['hosts'] {
  const [first] = hosts;
  const alike = ({ refusal, own, paidFor }: Replay['hosts'][number]) =>
    !own && !paidFor && refusal?.filter === first?.refusal?.filter && refusal?.message === first?.refusal?.message;
  if (first?.refusal === undefined || hosts.length < 2 || !hosts.every(alike)) return hosts;
  return [{ ...first, host: `all ${hosts.length}` }];
}

function nowText({ state, now, move }: Explained): string {
  if (move !== undefined) return move;
  if (now === undefined) return 'hosts are not yours to see; what placement said last tells why';
  const { decision } = now;
  if (decision === undefined) {
    return state === 'Leaving' ? 'placement leaves it alone' : 'it stays: placement moves no VM that is bound';
  }
  if (decision.kind === 'wait') return `${decision.reason}: ${decision.message}`;
  return `it fits, and placement is about to bind it to ${decision.host} (${whyText(decision.placement)})`;
}

function storedText({ reason, message, since, placement }: Stored): string {
  const why = placement?.host === undefined ? '' : ` (${whyText(placement)})`;
  return `${reason}: ${message}${why}${since === undefined ? '' : `, since ${since}`}`;
}

function whyText({ why, pool, fitting, turnedDown = [] }: NonNullable<Stored['placement']>): string {
  const claimed = why === 'Claimed' ? `a warm guest of pool ${pool}` : undefined;
  const chosen = claimed ?? (why === 'PaidFor' ? 'its tenant leases it' : 'the least free memory');
  const others = turnedDown.map(({ reason, hosts }) => `${hosts} ${reason}`).join(', ');
  const counts = `${counted(fitting, 'host')} fitted`;
  return `${chosen}; ${counts}${others === '' ? '' : `; turned down: ${others}`}`;
}

import { isDraining } from '../../resources/guards/host-drain.ts';
import { isLike, isReadyToTake } from '../../resources/guards/stand-in.ts';
import type { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import type { Setback } from './setbacks.ts';

/** How long a stand-in may take from its binding on to be ready. */
export const START_MS = 600_000;

export type MoveStep =
  | { readonly kind: 'stand-in'; readonly vm: VM }
  /** `failed`: it is to be tried again only after a while. */
  | { readonly kind: 'drop'; readonly vm: VM; readonly standIn: VM; readonly why: string; readonly failed: boolean }
  | { readonly kind: 'switch'; readonly vm: VM; readonly standIn: VM };

export interface MoveDeps {
  readonly host: (name: string) => Host | undefined;
  /** By the uid of a VM: what came of earlier tries. */
  readonly setbackOf: (uid: string) => Setback | undefined;
  /** Wall time. */
  readonly nowMs: number;
  /** Monotonic time. */
  readonly monotonicMs: number;
}

interface Next {
  readonly steps: readonly MoveStep[];
  /** What stands in its way; undefined: it is under way. */
  readonly waits?: string;
  readonly againInMs?: number;
}

/** What brings a VM a step nearer to another host. It stays where it is, as it is, until its stand-in is ready. */
export function nextOfMove(vm: VM, standIns: readonly VM[], deps: MoveDeps): Next {
  const alive = standIns.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const [standIn, ...others] = alive.sort(oldestFirst);
  const surplus = others.map((other) => drop(vm, other, 'there is another', false));
  if (standIn === undefined) return begin(vm, deps);
  const next = follow(vm, standIn, deps);
  return { ...next, steps: [...surplus, ...next.steps] };
}

function begin(vm: VM, { setbackOf, monotonicMs }: MoveDeps): Next {
  const setback = setbackOf(vm.metadata.uid);
  if (setback === undefined || setback.retryAtMs <= monotonicMs) {
    return { steps: [{ kind: 'stand-in', vm }], ...(setback === undefined ? {} : { waits: setback.told }) };
  }
  return { steps: [], waits: setback.told, againInMs: setback.retryAtMs - monotonicMs };
}

function follow(vm: VM, standIn: VM, deps: MoveDeps): Next {
  if (!isLike(standIn, vm))
    return { steps: [drop(vm, standIn, `it is not what ${vm.metadata.name} is any more`, false)] };
  const { hostName } = standIn.spec;
  if (hostName === undefined) {
    const scheduled = findCondition(standIn, 'Scheduled');
    return scheduled?.status === 'False' ? { steps: [], waits: scheduled.message } : { steps: [] };
  }
  const fault = faultOf(standIn, deps.host(hostName)) ?? lateness(standIn, deps.nowMs);
  if (fault !== undefined) return { steps: [drop(vm, standIn, fault, true)], waits: fault };
  if (isReadyToTake(standIn)) return { steps: [{ kind: 'switch', vm, standIn }] };
  return { steps: [], againInMs: boundAtMs(standIn, deps.nowMs) + START_MS - deps.nowMs };
}

/** Why a stand-in comes to nothing. */
function faultOf({ spec, status }: VM, host: Host | undefined): string | undefined {
  const { hostName } = spec;
  if (host === undefined) return `host ${hostName} is gone`;
  if (!isTrue(host, 'Ready')) return `host ${hostName} is not ready`;
  if (isDraining(host) || host.spec.cordoned === true) return `host ${hostName} takes no VM any more`;
  if (status?.phase !== 'Failed' && status?.phase !== 'Interrupted') return undefined;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return `it did not start on ${hostName}: ${ready?.message ?? status.phase}`;
}

function lateness(standIn: VM, nowMs: number): string | undefined {
  if (isReadyToTake(standIn) || nowMs - boundAtMs(standIn, nowMs) < START_MS) return undefined;
  const ready = findCondition(standIn, 'Ready');
  return `it was not ready on ${standIn.spec.hostName} after ${START_MS / 60_000} minutes: ${ready?.message ?? 'nothing is known of it'}`;
}

function boundAtMs(standIn: VM, nowMs: number): number {
  const scheduled = findCondition(standIn, 'Scheduled');
  return scheduled?.status === 'True' ? Date.parse(scheduled.lastTransitionTime) : nowMs;
}

function drop(vm: VM, standIn: VM, why: string, failed: boolean): MoveStep {
  return { kind: 'drop', vm, standIn, why, failed };
}

function oldestFirst(a: VM, b: VM): number {
  const rank = ({ metadata }: VM) => `${metadata.creationTimestamp} ${metadata.name}`;
  return rank(a) < rank(b) ? -1 : 1;
}

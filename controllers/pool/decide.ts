import { tenantShareOf } from '../../resources/guards/shares.ts';
import type { Pool } from '../../resources/kinds/pool.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { MemberState } from './members.ts';

/** A pool as it is found. */
export interface Situation {
  /** How many members there should be now. */
  readonly wanted: number;
  /** Why it keeps none, or makes none, for now: its tenant, or its image. */
  readonly obstacle?: Obstacle;
  readonly members: readonly { readonly vm: VM; readonly state: MemberState }[];
  /** How many more the quota has room for, and how many are too many for it. */
  readonly room: number;
  readonly tooMany: number;
  /** What of the quota is used up, where there is no room. */
  readonly noRoom?: string;
  /** Members failed lately: one is made at a time, and none before `retryAtMs`. */
  readonly failing?: { readonly retryAtMs: number };
}

export interface Obstacle {
  readonly reason: string;
  readonly message: string;
  /** Whether what is warm goes, too. */
  readonly empties: boolean;
}

export interface Plan {
  /** How many are made. */
  readonly make: number;
  readonly remove: readonly Removal[];
  /** Look again at this instant, in milliseconds. */
  readonly atMs?: number;
  /** Fewer than wanted, since the quota has no room for more. */
  readonly held: boolean;
}

export type Why = 'Failed' | 'Outdated' | 'Surplus' | 'Quota';

export interface Removal {
  readonly vm: VM;
  readonly why: Why;
}

/** How much of a pool may be made anew at once, beside what is warm already. */
const ROLL_PART = 4;

/**
 * What is to be made and what goes. What failed goes at once. What is outdated goes as new ones are ready, so that the pool never has fewer than are wanted,
 * unless neither the quota nor the hosts have room for one more: then one goes first. What is too much goes, that which is least warm first; and where the
 * namespace has more than its quota, members are what gives way.
 */
export function decide(situation: Situation, nowMs: number): Plan {
  const { obstacle, room, failing } = situation;
  const wanted = obstacle?.empties === true ? 0 : situation.wanted;
  const of = (...states: readonly MemberState[]) =>
    situation.members.filter(({ state }) => states.includes(state)).map(({ vm }) => vm);
  const ready = of('ready');
  const coming = of('warming', 'waiting', 'cramped');
  const outdated = of('outdated');
  const remove: Removal[] = removals('Failed', of('failed'));

  const missing = Math.max(0, wanted - ready.length - coming.length);
  const make = obstacle === undefined ? Math.min(missing, makable(situation, missing, coming.length, nowMs)) : 0;
  const waitsForRetry = missing > 0 && failing !== undefined && failing.retryAtMs > nowMs;

  const surplus = ready.length + coming.length - wanted;
  if (surplus > 0) remove.push(...removals('Surplus', coldestFirst([...coming, ...ready]).slice(0, surplus)));
  // Of what nobody hears of it is not known whether it is warm: it goes when there are enough without it.
  if (missing === 0 && coming.length === 0) remove.push(...removals('Surplus', of('silent')));
  remove.push(...removals('Outdated', outdatedThatGo(situation, outdated, missing, wanted)));

  // What is still an object but holds nothing any more is not among what is too many.
  const given = [...remove.map(({ vm }) => vm), ...of('going')].filter((vm) => tenantShareOf(vm) !== undefined);
  const tooMany = situation.tooMany - given.length;
  if (tooMany > 0) remove.push(...removals('Quota', giveWay(situation, remove, tooMany)));
  const held = missing > make && room < missing && !waitsForRetry && obstacle === undefined;
  return { make, remove, held, ...(waitsForRetry ? { atMs: failing.retryAtMs } : {}) };
}

function makable(
  { room, failing, members, wanted }: Situation,
  missing: number,
  coming: number,
  nowMs: number,
): number {
  if (failing !== undefined) return failing.retryAtMs > nowMs || coming > 0 ? 0 : Math.min(1, Math.max(0, room));
  const rolls = members.some(({ state }) => state === 'outdated');
  const atOnce = rolls ? Math.max(1, Math.ceil(wanted / ROLL_PART)) - coming : missing;
  return Math.max(0, Math.min(room, atOnce));
}

/** Those that were never up go at once: nothing warm is lost with them. Of the others as many as there are new ones for. */
function outdatedThatGo(
  { room, members, obstacle }: Situation,
  outdated: readonly VM[],
  missing: number,
  wanted: number,
): VM[] {
  const cold = outdated.filter((vm) => !isUp(vm));
  const warm = coldestFirst(outdated.filter(isUp));
  const ready = members.filter(({ state }) => state === 'ready').length;
  const spare = ready + warm.length - wanted;
  const going = members.some(({ state }) => state === 'going');
  const cramped = members.some(({ state }) => state === 'cramped');
  const stuck = obstacle === undefined && ((missing > 0 && room <= 0) || cramped);
  const count = spare > 0 ? spare : stuck && !going && cold.length === 0 ? 1 : 0;
  return [...cold, ...warm.slice(0, Math.min(count, warm.length))];
}

const isUp = ({ status }: VM): boolean => status?.guest?.power === 'Running';

/** Those that are not up come first; of those that are the youngest. */
function coldestFirst(members: readonly VM[]): readonly VM[] {
  const age = ({ metadata }: VM) => `${metadata.creationTimestamp} ${metadata.name}`;
  return [...members].sort((a, b) => Number(isUp(a)) - Number(isUp(b)) || (age(a) < age(b) ? 1 : -1));
}

function giveWay({ members }: Situation, going: readonly Removal[], count: number): readonly VM[] {
  const named = new Set(going.map(({ vm }) => vm.metadata.uid));
  const holds = (vm: VM) => !named.has(vm.metadata.uid) && tenantShareOf(vm) !== undefined;
  const left = members.filter(({ vm, state }) => state !== 'going' && holds(vm)).map(({ vm }) => vm);
  return coldestFirst(left).slice(0, count);
}

function removals(why: Why, vms: readonly VM[]): Removal[] {
  return vms.map((vm) => ({ vm, why }));
}

/** What a pool tells of its members. */
export function countsOf({
  members,
  wanted,
}: Situation): Pick<NonNullable<Pool['status']>, 'wanted' | 'replicas' | 'ready' | 'warming'> {
  const count = (...states: readonly MemberState[]) => members.filter(({ state }) => states.includes(state)).length;
  return {
    wanted,
    replicas: count('ready', 'warming', 'waiting', 'cramped', 'outdated', 'silent', 'failed'),
    ready: count('ready'),
    warming: count('warming', 'waiting', 'cramped'),
  };
}

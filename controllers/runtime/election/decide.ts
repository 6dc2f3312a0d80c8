import type { ElectionView } from './election-view.ts';
import { type DutyRecord, MEMBER_DURATION_S, type MemberRecord } from './lease-records.ts';

/** How long each in the order of precedence waits for the one before it. */
const STAGGER_MS = 300;
/** How long a holder of whom nothing is to be seen may still be at work: it cannot renew what is not there, and stops before this. */
const GONE_MS = MEMBER_DURATION_S * 1000;

interface Standing {
  /** The own name, as a member in good standing. */
  readonly me: string;
  /** The duties this process can lead, in the order it begins them. */
  readonly duties: readonly string[];
  readonly view: Pick<ElectionView, 'members' | 'leases' | 'goneMembers' | 'goneLeases' | 'load'>;
  /** When the view was first whole. */
  readonly sinceMs: number;
  /** Members that certainly lead nothing and never will again: what this process was before, and those it has removed. */
  readonly out: ReadonlySet<string>;
  /** Members whose process was found to be gone: they need not fall silent first. */
  readonly dead: ReadonlySet<string>;
  readonly nowMs: number;
}

export type Act =
  /** Removes a member that is not heard any more, at the version it was last seen at. */
  | { readonly do: 'remove'; readonly member: MemberRecord }
  /** Says that a duty has no leader, where the one it names is out. */
  | { readonly do: 'free'; readonly lease: DutyRecord }
  | { readonly do: 'claim'; readonly duty: string; readonly lease: DutyRecord | undefined };

interface Decision {
  readonly acts: readonly Act[];
  /** When to decide again though nothing changes; undefined: only when something does. */
  readonly againAtMs: number | undefined;
}

/** What a member does next. All order themselves alike, so that one acts at once and the others only if it does not. */
export function decide(standing: Standing): Decision {
  const { view, me, out, nowMs } = standing;
  const acts: Act[] = [];
  let againAtMs: number | undefined;
  const at = (instantMs: number, act: Act) => {
    if (instantMs <= nowMs) acts.push(act);
    else againAtMs = Math.min(againAtMs ?? instantMs, instantMs);
  };
  for (const member of view.members.values()) {
    const silentAtMs = silentFrom(member, standing);
    if (member.name === me || silentAtMs === undefined) continue;
    at(silentAtMs + rankOf(me, heirs(standing, member.name)) * STAGGER_MS, { do: 'remove', member });
  }
  const ranks = ranksOf(standing);
  for (const duty of standing.duties) {
    const openAtMs = openFrom(standing, duty);
    if (openAtMs === undefined) continue;
    const lease = view.leases.get(duty);
    at(openAtMs + (ranks.get(duty) ?? 0) * STAGGER_MS, { do: 'claim', duty, lease });
  }
  const claimed = new Set(acts.map((act) => (act.do === 'claim' ? act.duty : undefined)));
  for (const lease of view.leases.values())
    if (out.has(lease.holder) && !claimed.has(lease.duty)) acts.push({ do: 'free', lease });
  return { acts, againAtMs };
}

/** From when on a member may be removed; undefined: never. */
function silentFrom(
  { name, durationMs, seenAtMs }: { name: string; durationMs: number | undefined; seenAtMs: number },
  { dead }: Standing,
) {
  if (dead.has(name)) return Number.NEGATIVE_INFINITY;
  return durationMs === undefined ? undefined : seenAtMs + durationMs;
}

/** From when on a duty may be claimed; undefined: somebody has it, as far as can be seen. */
function openFrom({ view, me, out, sinceMs, nowMs }: Standing, duty: string): number | undefined {
  const lease = view.leases.get(duty);
  if (lease === undefined) {
    const goneAtMs = view.goneLeases.get(duty);
    return goneAtMs === undefined ? sinceMs : goneAtMs + GONE_MS;
  }
  if (lease.holder === '') return lease.seenAtMs;
  if (lease.holder === me || view.members.has(lease.holder)) return undefined;
  if (out.has(lease.holder)) return nowMs;
  return (view.goneMembers.get(lease.holder) ?? nowMs) + GONE_MS;
}

/** This process's place in the order of claims, by duty: who leads least goes first, what is open now being shared out in thought. */
function ranksOf(standing: Standing): ReadonlyMap<string, number> {
  const { view, me, duties, nowMs } = standing;
  const everybody = [...view.members.values()].filter((member) => (silentFrom(member, standing) ?? nowMs + 1) > nowMs);
  const known = new Set([...duties, ...everybody.flatMap((member) => member.duties)]);
  const loads = new Map<string, number>();
  const ranks = new Map<string, number>();
  for (const duty of [...known].sort()) {
    if (openFrom(standing, duty) === undefined) continue;
    const able = everybody.filter((member) => member.name !== me && member.duties.includes(duty));
    const names = able.map(({ name }) => name);
    if (duties.includes(duty)) names.push(me);
    const lone = new Set(able.filter(({ durationMs }) => durationMs === undefined).map(({ name }) => name));
    const load = (name: string) => loads.get(name) ?? view.load(name);
    const order = byHash(names, duty).sort((a, b) => Number(lone.has(b)) - Number(lone.has(a)) || load(a) - load(b));
    const [first] = order;
    if (first !== undefined) loads.set(first, load(first) + 1);
    ranks.set(duty, order.indexOf(me));
  }
  return ranks;
}

/** Those who may remove a member, in their order. */
function heirs(standing: Standing, of: string): readonly string[] {
  const { view, me, nowMs } = standing;
  const others = [...view.members.values()].filter(
    (member) => member.name !== me && (silentFrom(member, standing) ?? nowMs + 1) > nowMs,
  );
  return byHash([...others.map(({ name }) => name), me], of);
}

const rankOf = (me: string, order: readonly string[]) => order.indexOf(me);

/** An order that is the same for everybody, and another one for each `what`. */
function byHash(names: readonly string[], what: string): string[] {
  const hashed = names.map((name) => ({ name, hash: hash32(`${what}\n${name}`) }));
  return hashed.sort((a, b) => a.hash - b.hash || (a.name < b.name ? -1 : 1)).map(({ name }) => name);
}

/** 32 bits of FNV-1a. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

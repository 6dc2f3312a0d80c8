import { claimRefusal } from '../guards/claim.ts';
import { hostRefusal, type Wish } from '../guards/host-guard.ts';
import { isIdle, poolRefOf, shapeOf } from '../guards/pool-members.ts';
import { HOSTS, VMS } from '../guards/refs.ts';
import type { WorldView } from '../guards/world.ts';
import type { VM } from '../kinds/vm.ts';
import { entry } from '../meta/map-entry.ts';

/** The idle members of a shape, of whatever pool. */
export type IdleMembers = (shape: string) => Iterable<VM>;

/** A member whose guest a VM is to take. */
export interface Claim {
  readonly member: VM;
  /** As it is told: with its namespace where that is another than the VM's. */
  readonly pool: string;
  /** How many hosts had one that could be taken. */
  readonly hosts: number;
}

/** Looks through all VMs: for who asks once. */
export function idleMembersOf(world: WorldView): IdleMembers {
  return (shape) => [...world.list(VMS)].filter((vm) => isIdle(vm) && shapeOf(vm) === shape);
}

/**
 * The warm guest a VM takes, if there is one that it may: of its own namespace before shared ones, on a host its tenant pays for before others, then on the host
 * that has the most of them, so that no host is emptied while another has plenty; the oldest of those.
 */
export function chooseMember(wish: Wish, world: WorldView, idle: IdleMembers): Claim | undefined {
  const taker = { ...wish.vm, spec: { ...wish.vm.spec, resolved: wish.resolved } };
  const shape = shapeOf(taker);
  const perHost = new Map<string, VM[]>();
  for (const member of shape === undefined ? [] : idle(shape)) {
    if (claimRefusal(taker, member, world) !== undefined) continue;
    entry(perHost, member.spec.hostName ?? '', (): VM[] => []).push(member);
  }
  const { namespace } = taker.metadata;
  const candidates = [...perHost].flatMap(([host, members]) => candidatesOn(host, members, wish, world));
  const isOwn = ({ member }: Candidate) => Number(member.metadata.namespace === namespace);
  const comesFirst = (a: Candidate, b: Candidate) =>
    isOwn(b) - isOwn(a) ||
    Number(b.paidFor) - Number(a.paidFor) ||
    b.onHost - a.onHost ||
    (rank(a.member) < rank(b.member) ? -1 : 1);
  const [first, ...others] = candidates;
  if (first === undefined) return undefined;
  const best = others.reduce((so, other) => (comesFirst(so, other) < 0 ? so : other), first);
  const name = poolRefOf(best.member)?.name ?? '';
  const pool = isOwn(best) ? name : `${best.member.metadata.namespace}/${name}`;
  return { member: best.member, pool, hosts: new Set(candidates.map(({ member }) => member.spec.hostName)).size };
}

interface Candidate {
  readonly member: VM;
  readonly paidFor: boolean;
  /** How many there are on its host. */
  readonly onHost: number;
}

/** All are of one shape, so the host is asked once: it takes the VM in the place of any of them, or of none. */
function candidatesOn(name: string, members: readonly VM[], { vm, resolved }: Wish, world: WorldView): Candidate[] {
  const host = world.get(HOSTS, undefined, name);
  const guestID = members[0]?.spec.guestID;
  if (host === undefined || guestID === undefined) return [];
  const there: VM = { ...vm, spec: { ...vm.spec, guestID } };
  if (hostRefusal({ vm: there, resolved }, host, world) !== undefined) return [];
  const paidFor = host.status?.lease?.namespace === vm.metadata.namespace;
  return members.map((member) => ({ member, paidFor, onHost: members.length }));
}

const rank = ({ metadata, spec }: VM) =>
  `${spec.hostName} ${metadata.creationTimestamp} ${metadata.namespace}/${metadata.name}`;

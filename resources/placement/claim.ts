import { claimRefusal } from '../guards/claim.ts';
import { hostRefusal, type Wish } from '../guards/host-guard.ts';
import { isIdle, poolRefOf, shapeOf } from '../guards/pool-members.ts';
import { HOSTS, VMS } from '../guards/refs.ts';
import type { WorldView } from '../guards/world.ts';
import type { VM } from '../kinds/vm.ts';

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
  const shape = shapeOf({ ...wish.vm, spec: { ...wish.vm.spec, resolved: wish.resolved } });
  const taker = { ...wish.vm, spec: { ...wish.vm.spec, resolved: wish.resolved } };
  const fitting = [...(shape === undefined ? [] : idle(shape))]
    .map((member) => candidate(taker, member, wish, world))
    .filter((each) => each !== undefined);
  const perHost = new Map<string, number>();
  for (const { host } of fitting) perHost.set(host, (perHost.get(host) ?? 0) + 1);
  const onHost = (each: Candidate) => perHost.get(each.host) ?? 0;
  const [best] = fitting.sort(
    (a, b) =>
      Number(b.own) - Number(a.own) ||
      Number(b.paidFor) - Number(a.paidFor) ||
      onHost(b) - onHost(a) ||
      (rank(a) < rank(b) ? -1 : 1),
  );
  if (best === undefined) return undefined;
  const { member, own } = best;
  const name = poolRefOf(member)?.name ?? '';
  return { member, pool: own ? name : `${member.metadata.namespace}/${name}`, hosts: perHost.size };
}

interface Candidate {
  readonly member: VM;
  readonly host: string;
  readonly own: boolean;
  readonly paidFor: boolean;
}

function candidate(taker: VM, member: VM, wish: Wish, world: WorldView): Candidate | undefined {
  const name = member.spec.hostName ?? '';
  const host = world.get(HOSTS, undefined, name);
  if (host === undefined || claimRefusal(taker, member, world) !== undefined) return undefined;
  const { guestID } = member.spec;
  const there = { ...taker, spec: { ...taker.spec, ...(guestID === undefined ? {} : { guestID }) } };
  if (hostRefusal({ vm: there, resolved: wish.resolved }, host, world) !== undefined) return undefined;
  const { namespace } = taker.metadata;
  return {
    member,
    host: name,
    own: member.metadata.namespace === namespace,
    paidFor: host.status?.lease?.namespace === namespace,
  };
}

const rank = ({ host, member: { metadata } }: Candidate) =>
  `${host} ${metadata.creationTimestamp} ${metadata.namespace}/${metadata.name}`;

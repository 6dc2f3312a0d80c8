import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { POOL_LABEL } from '../../resources/guards/pool-members.ts';
import { POOLS, VMS } from '../../resources/guards/refs.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { type Bind, decide, likeness, type Wait } from '../../resources/placement/decide.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { InFlight } from '../runtime/in-flight.ts';
import { hasReason, mergePatchOf, orGone, writeStatus } from '../runtime/write.ts';
import { boundStatus, waitingStatus } from './conditions.ts';
import type { PlacementWorld } from './placement-world.ts';

/** The key of a pass over all that wait; any other key is a bound VM. */
export const PASS = '*';
/** The index value of VMs that wait for a host. */
export const WAITING = 'waiting';
const WRITES_AT_ONCE = 32;

export interface PlacementDeps {
  readonly client: ApiClient;
  readonly vms: CacheView<VM>;
  readonly waiting: IndexView<VM>;
  /** Idle members of pools, by shape. */
  readonly idle: IndexView<VM>;
  /** By uid: members that the server did not let be taken as they were at a version. */
  readonly refused: Map<string, string>;
  readonly hosts: CacheView<Host>;
  readonly view: PlacementWorld;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function reconcile(key: string, deps: PlacementDeps, signal: AbortSignal): Promise<Outcome> {
  return key === PASS ? pass(deps, signal) : confirmBound(key, deps, signal);
}

/** Looks at every VM that waits, oldest first: binds those that fit and tells the others why not, in one go. */
async function pass(deps: PlacementDeps, signal: AbortSignal): Promise<Outcome> {
  const { world } = deps.view;
  const hosts = [...deps.hosts.list()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const writes = new InFlight(WRITES_AT_ONCE);
  const unfit = new Map<string, Wait>();
  let [startAt, again] = [0, false];
  for (const listed of oldestFirst(deps.waiting.get(WAITING))) {
    signal.throwIfAborted();
    // The list is from the beginning of the pass, and binding takes time: look at the VM as it is by now.
    const vm = deps.vms.get(`${listed.metadata.namespace}/${listed.metadata.name}`);
    if (vm === undefined || !isWaiting(vm) || isAssumedBound(vm, deps.view)) continue;
    const like = likeness(vm);
    const decision = unfit.get(like) ?? decide(vm, world, hosts, startAt, (shape) => idleMembers(shape, deps));
    startAt += 1;
    if (decision.kind === 'wait') unfit.set(like, decision);
    else deps.view.assume(boundBy(vm, decision), decision.member);
    await writes.start(async () => {
      if (decision.kind === 'wait') await tellWaiting(vm, decision, deps, signal);
      else if (!(await bind(vm, decision, deps, signal))) again = true;
    });
  }
  await writes.finish();
  return { again };
}

/** Answers false when the server saw the world otherwise: the cache will show why, and the VM is looked at again. */
async function bind(vm: VM, decision: Bind, deps: PlacementDeps, signal: AbortSignal): Promise<boolean> {
  const { view } = deps;
  const { member } = decision;
  try {
    const bound = await sendBinding(vm, decision, deps, signal);
    if (bound === undefined) {
      view.retract(vm, member);
    } else {
      view.confirm(bound, member);
      tellBound(bound, decision, deps);
    }
    return true;
  } catch (error) {
    view.retract(vm, member);
    if (hasReason(error, 'Conflict', 'ServiceUnavailable')) return false;
    if (member !== undefined && hasReason(error, 'Forbidden')) {
      deps.refused.set(member.metadata.uid, member.metadata.resourceVersion);
      return false;
    }
    const cause = hasReason(error, 'Forbidden') ? error.details?.causes?.[0] : undefined;
    if (!hasReason(error, 'Forbidden') || cause === undefined) throw error;
    const message = error.message.replace(/^.*? is forbidden: /, '');
    await tellWaiting(vm, { kind: 'wait', reason: cause.reason, message }, deps, signal);
    return false;
  }
}

/** Where it is, that it is there, and why there, in one write: nobody sees the one without the other, and a fleet has a write less for each VM. */
async function sendBinding(vm: VM, decision: Bind, { client, clock }: PlacementDeps, signal: AbortSignal) {
  const { host, epoch, placement, member } = decision;
  const { name, namespace, resourceVersion } = vm.metadata;
  const guest = member?.spec.guestID === undefined ? {} : { guestID: member.spec.guestID };
  const generation = (vm.metadata.generation ?? 0) + 1;
  const bound = { ...boundBy(vm, decision), metadata: { ...vm.metadata, generation } };
  const told = boundStatus(bound, placement, clock.now());
  const patch = {
    metadata: { resourceVersion },
    spec: { hostName: host, epoch, ...guest },
    status: mergePatchOf(vm.status ?? {}, told, 'named'),
  };
  return orGone(client.resource<VM>(VM, namespace).patch(name, patch, { subresource: 'binding' }, signal));
}

/** Without those the world has as taken already, and those the server did not give as they are. */
function idleMembers(shape: string, { idle, view, refused }: PlacementDeps): readonly VM[] {
  return idle.get(shape).filter(({ metadata }) => {
    const seen = view.world.get(VMS, metadata.namespace, metadata.name);
    return seen?.metadata.uid === metadata.uid && refused.get(metadata.uid) !== metadata.resourceVersion;
  });
}

function tellBound(vm: VM, { host, epoch, placement, member }: Bind, deps: PlacementDeps): void {
  const from = placement.pool === undefined ? {} : { pool: placement.pool };
  deps.log.info('vm bound', { vm: objectKey(vm.metadata), host, epoch, ...from });
  const message = `bound to host ${host}${member === undefined ? '' : `, with a guest of pool ${placement.pool}`}`;
  deps.events.record(vm, { type: 'Normal', reason: 'Scheduled', message });
  if (member !== undefined) tellClaim(vm, member, host, deps);
}

/** Tells of it on the pool. */
function tellClaim(vm: VM, { metadata }: VM, host: string, { view, events }: PlacementDeps): void {
  const pool = view.world.get(POOLS, metadata.namespace, metadata.labels?.[POOL_LABEL] ?? '');
  const message = `VM ${objectKey(vm.metadata)} took the guest of member ${metadata.name} on host ${host}`;
  if (pool !== undefined) events.record(pool, { type: 'Normal', reason: 'Claimed', message });
}

function boundBy(vm: VM, { host, resolved, member }: Bind): VM {
  const guest = member?.spec.guestID === undefined ? {} : { guestID: member.spec.guestID };
  return { ...vm, spec: { ...vm.spec, hostName: host, resolved, ...guest } };
}

async function tellWaiting(vm: VM, wait: Wait, deps: PlacementDeps, signal: AbortSignal): Promise<void> {
  const vms = deps.client.resource<VM>(VM, vm.metadata.namespace);
  try {
    const written = await writeStatus(vms, vm, waitingStatus(vm, wait, deps.clock.now()), signal);
    if (written === undefined || written === vm) return;
    deps.events.record(vm, { type: 'Warning', reason: 'FailedScheduling', message: wait.message });
  } catch (error) {
    // Written by others since: its change wakes another pass.
    if (!hasReason(error, 'Conflict')) throw error;
  }
}

/** A binding that somebody else wrote, or that was written in two, comes to be told of too. */
async function confirmBound(key: string, deps: PlacementDeps, signal: AbortSignal): Promise<Outcome> {
  const vm = deps.vms.get(key);
  if (vm?.spec.hostName === undefined || vm.metadata.deletionTimestamp !== undefined) return {};
  const vms = deps.client.resource<VM>(VM, vm.metadata.namespace);
  await writeStatus(vms, vm, boundStatus(vm, undefined, deps.clock.now()), signal);
  return {};
}

/** Whether a VM wants a host. */
export function isWaiting(vm: VM): boolean {
  return vm.spec.hostName === undefined && vm.metadata.deletionTimestamp === undefined;
}

function isAssumedBound(vm: VM, { world }: PlacementWorld): boolean {
  const seen = world.get(VMS, vm.metadata.namespace, vm.metadata.name);
  return seen?.metadata.uid === vm.metadata.uid && seen.spec.hostName !== undefined;
}

function oldestFirst(vms: readonly VM[]): readonly VM[] {
  const rank = (vm: VM) => `${vm.metadata.creationTimestamp} ${vm.metadata.namespace}/${vm.metadata.name}`;
  return vms
    .map((vm) => ({ vm, rank: rank(vm) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ vm }) => vm);
}

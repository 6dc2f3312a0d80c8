import type { ApiClient } from '../apiserver/client/client.ts';
import { finalizerStage, releaseFinalizer } from '../controllers/runtime/finalizer.ts';
import { hasReason, orGone, writeStatus } from '../controllers/runtime/write.ts';
import { isLost } from '../resources/guards/host-lost.ts';
import { GUEST_FINALIZER } from '../resources/guards/vm-admission.ts';
import { VM } from '../resources/kinds/vm.ts';
import { splitKey } from '../resources/meta/object.ts';
import { type ActDeps, act, type Job } from './act-on-guest.ts';
import type { ObservedGuest } from './drivers/driver.ts';
import { isOn } from './guest-room.ts';
import { epochOf, factOf, guestIDOf, PLAN, wishOf } from './plan.ts';
import { type Hold, vmStatus } from './vm-report.ts';

export interface GuestDeps extends ActDeps {
  readonly host: string;
  /** Of the Host as it is now; undefined while there is none. */
  readonly hostUID: () => string | undefined;
  readonly client: ApiClient;
  /** The VM objects bound here that name a guest, as new as this process knows them. */
  readonly vmsOf: (guestID: string) => readonly VM[];
  /** Whether an operator said that the guest may go if it is nobody's. */
  readonly mayRemove: (guestID: string) => boolean;
  readonly wrote: (vm: VM) => void;
}

export interface Outcome {
  /** Look again after this many milliseconds, though nothing is wrong. */
  readonly requeueAfterMs?: number;
}

/** Brings one guest a step nearer to what its VM object wants, and reports what is so. */
export async function reconcileGuest(id: string, deps: GuestDeps, signal: AbortSignal): Promise<Outcome> {
  // Asked before the list is: what was made between the two is in neither.
  const unsettled = deps.operations.unsettled(id);
  const guest = (await deps.driver.list(signal)).find((other) => other.id === id);
  const claims = [...deps.vmsOf(id)].sort(bySay);
  const vm = claims[0];
  if (vm === undefined) return reconcileOrphan(id, guest, deps, signal);
  const planned = PLAN[wishOf(vm)][factOf(guest, vm)];
  const cell = planned.action === 'release' && unsettled ? PLAN.Deleting.NeverStarted : planned;
  const job: Job = { id, vm, guest, cell };
  const hold = await act(job, deps, signal);
  if (cell.action === 'release') {
    for (const claim of claims) await release(claim, deps, signal);
    return {};
  }
  const soonMs = hold === undefined ? untilToldMs(job, vm, deps) : 0;
  if (soonMs === 0) await report(job, vm, hold, deps, signal);
  // Somebody living names the guest: it has passed over to them, and the others may go without it.
  if (wishOf(vm) !== 'Deleting') {
    for (const claim of claims) {
      // It took the guest over from this very VM, which is about to be seen elsewhere: the guest is its to end.
      const took = claim.spec.standsInFor?.uid === vm.metadata.uid;
      if (wishOf(claim) === 'Deleting' && !took) await release(claim, deps, signal);
    }
  }
  const requeueAfterMs = soonMs > 0 ? soonMs : hold?.retryMs;
  return requeueAfterMs === undefined ? {} : { requeueAfterMs };
}

/** How soon a creation or a start has to end in order to be told of by what comes of it alone. */
const AT_ONCE_MS = 50;

/** How long to wait with the news that something was begun: each is a write that everybody who watches is told of, and most of them are old in a moment. */
function untilToldMs({ id, cell }: Job, vm: VM, { operations }: GuestDeps): number {
  if (cell.phase !== 'Creating' || vm.status?.phase === cell.phase) return 0;
  const underWayMs = operations.underWayMs(id, 'create') ?? operations.underWayMs(id, 'start');
  return underWayMs === undefined ? 0 : Math.max(0, Math.ceil(AT_ONCE_MS - underWayMs));
}

/** Who has the say over a guest comes first: the living before those that go, then the newest binding. */
function bySay(a: VM, b: VM): number {
  const goes = (vm: VM) => Number(vm.metadata.deletionTimestamp !== undefined);
  return goes(a) - goes(b) || epochOf(b) - epochOf(a);
}

async function report(job: Job, vm: VM, hold: Hold | undefined, deps: GuestDeps, signal: AbortSignal): Promise<void> {
  const { host, client, clock, operations } = deps;
  const status = vmStatus({ ...job, vm, hold, host, hostUID: deps.hostUID(), nowMs: clock.now() });
  // A start just begun is told of by the driver at once: until then there is nothing new to say.
  const begun = job.guest?.power === 'Off' && job.cell.action === 'start' && operations.current(job.id) === 'start';
  const known = vm.status?.phase === status.phase && vm.status?.observedGeneration === status.observedGeneration;
  if (begun && known) return;
  const written = await writeStatus(client.resource<VM>(VM, vm.metadata.namespace), vm, status, signal);
  if (written !== undefined) deps.wrote(written);
}

/** Nothing of this VM is left here: says so, then lets the object go. In this order, for what the guest held is given back by the first of the two. */
async function release(vm: VM, deps: GuestDeps, signal: AbortSignal): Promise<void> {
  const vms = deps.client.resource<VM>(VM, vm.metadata.namespace);
  if (finalizerStage(vm, GUEST_FINALIZER) !== 'cleanup') return;
  const job: Job = { id: guestIDOf(vm), vm, guest: undefined, cell: PLAN.Deleting.None };
  const { host, hostUID, clock } = deps;
  const status = vmStatus({ ...job, vm, hold: undefined, host, hostUID: hostUID(), nowMs: clock.now() });
  const written = await writeStatus(vms, vm, status, signal);
  if (written !== undefined) await releaseFinalizer(vms, written, GUEST_FINALIZER, signal);
}

/** A guest that no VM object here names is left alone, but where its VM is seen bound elsewhere: then it is stopped; and removed only where an operator said so. */
async function reconcileOrphan(
  id: string,
  guest: ObservedGuest | undefined,
  deps: GuestDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const unwanted = deps.mayRemove(id);
  const vm = guest !== undefined && (unwanted || isOn(guest)) ? await vmOfLabel(guest, deps, signal) : undefined;
  // A VM that came to name it, and is bound here, is about to be seen.
  if (vm !== undefined && vm.spec.hostName === deps.host && !isLost(vm)) return {};
  const elsewhere = vm?.spec.hostName === undefined || vm.spec.hostName === deps.host ? undefined : vm;
  const wish = unwanted ? 'Unwanted' : elsewhere === undefined ? 'NoVM' : 'Elsewhere';
  const cell = PLAN[wish][factOf(guest, elsewhere)];
  const hold = await act({ id, vm: undefined, guest, cell }, deps, signal);
  return hold?.retryMs === undefined ? {} : { requeueAfterMs: hold.retryMs };
}

/** The VM whose guest this was, if it still says so. A nodelet that may not look counts as not having seen it. */
async function vmOfLabel(guest: ObservedGuest, deps: GuestDeps, signal: AbortSignal): Promise<VM | undefined> {
  const { namespace, name } = splitKey(guest.label);
  if (namespace === undefined) return undefined;
  const asked = orGone(deps.client.resource<VM>(VM, namespace).get(name, signal));
  const vm = await asked.catch((error: unknown) => {
    if (hasReason(error, 'Forbidden')) return undefined;
    throw error;
  });
  return vm !== undefined && guestIDOf(vm) === guest.id ? vm : undefined;
}

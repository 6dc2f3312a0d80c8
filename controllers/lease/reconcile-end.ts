import { LEASE_FINALIZER } from '../../resources/guards/lease-admission.ts';
import { letGo } from '../../resources/guards/lease-companions.ts';
import { hostOf } from '../../resources/guards/lease-term.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { Outcome } from '../runtime/duty.ts';
import { releaseFinalizer } from '../runtime/finalizer.ts';
import { deleteAll } from '../runtime/namespace-contents.ts';
import { hasReason, writeStatus } from '../runtime/write.ts';
import { activeStatus, endedStatus, endingStatus } from './conditions.ts';
import { decideClaim, decideEnd, type End, lessees } from './decide-end.ts';
import type { LeaseDeps } from './lease-deps.ts';

/** How soon a server whose clock is behind is asked again. */
const ASK_AGAIN_MS = 60_000;

/** Brings a lease that has its host to its end, when that has come. */
export async function reconcileLease(key: string, deps: LeaseDeps, signal: AbortSignal): Promise<Outcome> {
  const lease = deps.leases.get(key);
  if (lease === undefined) return {};
  const { client, clock, log, events } = deps;
  const leases = client.resource<Lease>(Lease, lease.metadata.namespace);
  const reading = deps.steady.readFor(lease.metadata.uid, lease.status?.grantedAt);
  const end = decideEnd(lease, vmsOn(lease.status?.host, deps), deps.view.world, reading);
  switch (end.kind) {
    case 'nothing':
      return {};
    case 'goes-on':
      await tellActive(lease, end.suspect, deps, signal);
      return again(end);
    case 'begin': {
      const begun = await begin(lease, deps, signal);
      if (begun !== undefined) return begun;
      log.info('lease is over', { lease: key, host: lease.status?.host });
      events.record(lease, {
        type: 'Normal',
        reason: 'Ending',
        message: `it is over; its VMs on ${lease.status?.host} go`,
      });
      return {};
    }
    case 'clear':
      await writeStatus(leases, lease, endingStatus(lease, end.vms, clock.now()), signal);
      await deleteAll(client.resource<VM>(VM, lease.metadata.namespace), end.vms, signal);
      return {};
    case 'let-go':
      // The server may know of a guest that is not seen here yet; it says so, and the caches will show it.
      await writeStatus(leases, lease, endedStatus(lease, clock.now()), signal);
      deps.steady.forget(lease.metadata.uid);
      log.info('lease ended', { lease: key, host: lease.status?.host });
      return {};
    case 'release':
      await releaseFinalizer(leases, lease, LEASE_FINALIZER, signal);
      return {};
    default:
      throw new Error(`unhandled end ${end satisfies never}`);
  }
}

function again({ againInMs }: Extract<End, { kind: 'goes-on' }>): Outcome {
  return againInMs === undefined ? {} : { requeueAfterMs: againInMs };
}

async function tellActive(lease: Lease, suspect: string | undefined, deps: LeaseDeps, signal: AbortSignal) {
  const leases = deps.client.resource<Lease>(Lease, lease.metadata.namespace);
  const { world } = deps.view;
  const host = hostOf(lease, world);
  const used =
    host !== undefined && lessees(vmsOn(lease.status?.host, deps), lease.metadata.namespace ?? '', world).length > 0;
  await writeStatus(leases, lease, activeStatus(lease, { host, used }, suspect, deps.clock.now()), signal);
}

/** Undefined: it has begun to end. Else what is to be done because the server says that it is not over by its clock. */
async function begin(lease: Lease, deps: LeaseDeps, signal: AbortSignal): Promise<Outcome | undefined> {
  const leases = deps.client.resource<Lease>(Lease, lease.metadata.namespace);
  const vms = decideEnd(ending(lease), vmsOn(lease.status?.host, deps), deps.view.world, deps.steady.read());
  const status = endingStatus(lease, vms.kind === 'clear' ? vms.vms : [], deps.clock.now());
  try {
    await writeStatus(leases, lease, status, signal);
    return undefined;
  } catch (error) {
    const cause = hasReason(error, 'Forbidden') ? error.details?.causes?.[0]?.reason : undefined;
    if (cause === 'NotOver') return { again: true };
    if (cause !== 'ClockSuspect') throw error;
    const differ = `the clocks of server and controllers differ: ${(error as Error).message.replace(/^.*? is forbidden: /, '')}`;
    deps.log.info('a lease is not ended, for the clocks differ', {
      lease: `${lease.metadata.namespace}/${lease.metadata.name}`,
    });
    await tellActive(lease, differ.replace(/; the server's clock says .*/, ''), deps, signal);
    return { requeueAfterMs: ASK_AGAIN_MS };
  }
}

function ending(lease: Lease): Lease {
  return { ...lease, status: { ...lease.status, phase: 'Ending' } };
}

/** Lets a host go that is held although its Lease is gone, when the minimum is over. */
export async function reconcileClaim(name: string, deps: LeaseDeps, signal: AbortSignal): Promise<Outcome> {
  const host = deps.hosts.get(name);
  const claim = host?.status?.lease;
  if (host === undefined || claim === undefined) return {};
  const { client, clock, log } = deps;
  const hosts = client.resource<Host>(Host);
  const reading = deps.steady.readFor(claim.uid, claim.since);
  const end = decideClaim(host, vmsOn(name, deps), deps.view.world, reading);
  switch (end.kind) {
    case 'nothing':
    case 'release':
      return {};
    case 'goes-on':
      return again(end);
    case 'begin':
      await writeStatus(hosts, host, { lease: { ...claim, ending: true } }, signal);
      return {};
    case 'clear':
      await deleteAll(client.resource<VM>(VM, claim.namespace), end.vms, signal);
      return {};
    case 'let-go': {
      const { pastLeases, conditions } = letGo(host, clock.now()).status ?? {};
      await writeStatus(hosts, host, { lease: undefined, pastLeases, conditions }, signal);
      deps.steady.forget(claim.uid);
      log.info('held host let go', { host: name, tenant: claim.namespace });
      return {};
    }
    default:
      throw new Error(`unhandled end ${end satisfies never}`);
  }
}

function vmsOn(host: string | undefined, { vmsByHost }: LeaseDeps): readonly VM[] {
  return host === undefined ? [] : vmsByHost.get(host);
}

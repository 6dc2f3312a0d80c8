import { type Clock, microTime } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { HOST_LEASE_NAMESPACE } from '../../resources/streams/control-messages.ts';
import {
  ADDRESS_ANNOTATION,
  APISERVER_COMPONENT,
  COMPONENT_LABEL,
  SERVER_LEASE_RENEWAL_MS,
  SERVER_LEASE_SECONDS,
  serverLeaseName,
} from '../../resources/streams/server-leases.ts';
import { ApiClient, type ResourceClient } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import { unless } from '../client/unless.ts';
import { isStoreAway } from './is-store-away.ts';
import { NameTakenError } from './name-taken-error.ts';
import type { ServerDirectory } from './server-directory.ts';

/** What a server tells of itself. */
export interface ServerAnnouncement {
  readonly name: string;
  /** What tells it from another of that name: the same over restarts. */
  readonly uid: string;
  /** The origin that other servers reach it at. */
  readonly address: string;
}

interface ServerLeaseDeps extends ServerAnnouncement {
  readonly transport: Transport;
  readonly directory: ServerDirectory;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long the end of a server may wait for its Lease to go. */
const RELEASE_MS = 2_000;
/** Of a server that was never seen again its Lease is removed after this. */
export const FORGET_MS = 10 * SERVER_LEASE_SECONDS * 1000;

/**
 * Takes the Lease of this server and renews it; removes those of servers that have not renewed theirs for five minutes. When another holds the name it
 * waits for one period: throws `NameTakenError` when that one renews, and takes over when it does not. Disposing it removes the Lease.
 */
export async function keepServerLease(deps: ServerLeaseDeps, signal: AbortSignal): Promise<AsyncDisposable> {
  const leases = new ApiClient(deps.transport).resource<CoordinationLease>(CoordinationLease, HOST_LEASE_NAMESPACE);
  await claim(deps, leases, signal);
  const ending = new AbortController();
  const renewing = keepRenewing(deps, leases, AbortSignal.any([signal, ending.signal]));
  return {
    async [Symbol.asyncDispose]() {
      ending.abort(new Error('the server is stopping'));
      await renewing;
      await release(deps, leases);
    },
  };
}

async function claim(
  deps: ServerLeaseDeps,
  leases: ResourceClient<CoordinationLease>,
  signal: AbortSignal,
): Promise<void> {
  const { name, directory, clock, log } = deps;
  const giveUpMs = clock.monotonic() + SERVER_LEASE_SECONDS * 1000;
  let theirs: string | undefined;
  for (;;) {
    const found = await leases.get(serverLeaseName(name), signal).catch(unless('NotFound'));
    const free = found === undefined || found.spec?.holderIdentity === holderOf(deps);
    if (!free && theirs !== undefined && found.metadata.resourceVersion !== theirs)
      throw new NameTakenError(name, directory.addressOf(name));
    if (free || clock.monotonic() >= giveUpMs) {
      if (await write(deps, leases, found, signal)) return;
      continue;
    }
    if (theirs === undefined) log.info('another server held this name; waits whether it lives', { name });
    theirs = found.metadata.resourceVersion;
    await clock.sleep(1_000, signal);
  }
}

/** Answers false when somebody else wrote in between. */
async function write(
  deps: ServerLeaseDeps,
  leases: ResourceClient<CoordinationLease>,
  found: CoordinationLease | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const name = serverLeaseName(deps.name);
  const metadata = {
    labels: { [COMPONENT_LABEL]: APISERVER_COMPONENT },
    annotations: { [ADDRESS_ANNOTATION]: deps.address },
  };
  const spec = {
    holderIdentity: holderOf(deps),
    leaseDurationSeconds: SERVER_LEASE_SECONDS,
    renewTime: microTime(deps.clock.now()),
  };
  try {
    if (found === undefined) {
      const object = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, ...metadata }, spec };
      await leases.create(object, {}, signal);
    } else {
      const { resourceVersion } = found.metadata;
      await leases.patch(name, { metadata: { ...metadata, resourceVersion }, spec }, {}, signal);
    }
    return true;
  } catch (error) {
    if (error instanceof ApiError && ['AlreadyExists', 'Conflict', 'NotFound'].includes(error.reason)) return false;
    throw error;
  }
}

async function keepRenewing(
  deps: ServerLeaseDeps,
  leases: ResourceClient<CoordinationLease>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  const foreign = new ForeignHolder(deps);
  while (!signal.aborted) {
    await clock.sleep(SERVER_LEASE_RENEWAL_MS, signal).catch(() => {});
    if (signal.aborted) return;
    await renew(deps, leases, foreign, signal).catch((error: unknown) => {
      if (!signal.aborted && !isStoreAway(error)) log.error('server lease not renewed', { error: String(error) });
    });
    await forgetTheDead(deps, leases, signal).catch((error: unknown) => {
      if (!signal.aborted && !isStoreAway(error))
        log.error('lease of a server that is gone not removed', { error: String(error) });
    });
  }
}

/** Others remove the Lease of a server that stood still for minutes; it is made again. One that another took and does not renew is taken back. */
async function renew(
  deps: ServerLeaseDeps,
  leases: ResourceClient<CoordinationLease>,
  foreign: ForeignHolder,
  signal: AbortSignal,
): Promise<void> {
  const found = await leases.get(serverLeaseName(deps.name), signal).catch(unless('NotFound'));
  if (!foreign.lives(found)) await write(deps, leases, found, signal);
}

/** Whoever else the Lease says holds it: another server of that name, which renews it, or somebody who wrote that by hand. */
class ForeignHolder {
  readonly #deps: ServerLeaseDeps;
  #seen: { readonly holder: string; readonly version: string | undefined; readonly atMs: number } | undefined;

  constructor(deps: ServerLeaseDeps) {
    this.#deps = deps;
  }

  /** Whether another may live that holds it: one has a whole period to renew it. */
  lives(found: CoordinationLease | undefined): boolean {
    const { name, clock, log } = this.#deps;
    const holder = found?.spec?.holderIdentity;
    const seen = this.#seen;
    if (!holder || holder === holderOf(this.#deps)) {
      this.#seen = undefined;
      return false;
    }
    const version = found?.metadata.resourceVersion;
    if (seen === undefined || seen.version !== version) {
      this.#seen = { holder, version, atMs: clock.monotonic() };
      if (seen?.holder !== holder) log.error('server lease is held by another', { name, holder });
      return true;
    }
    if (clock.monotonic() - seen.atMs < SERVER_LEASE_SECONDS * 1000) return true;
    log.info('takes the server lease back from a holder that does not renew it', { name, holder });
    return false;
  }
}

async function forgetTheDead(
  { name: own, directory, log }: ServerLeaseDeps,
  leases: ResourceClient<CoordinationLease>,
  signal: AbortSignal,
): Promise<void> {
  for (const name of directory.names()) {
    const found = name === own ? undefined : directory.find(name);
    if (found === undefined || found.unchangedMs < FORGET_MS) continue;
    await remove(leases, found.lease, signal);
    log.info('forgot a server that is gone', { server: name });
  }
}

async function release(deps: ServerLeaseDeps, leases: ResourceClient<CoordinationLease>): Promise<void> {
  const { clock, log } = deps;
  const overdue = new AbortController();
  const stop = clock.after(RELEASE_MS, () => overdue.abort(new Error('it took too long')));
  try {
    const found = await leases.get(serverLeaseName(deps.name), overdue.signal).catch(unless('NotFound'));
    if (found?.spec?.holderIdentity === holderOf(deps)) await remove(leases, found, overdue.signal);
  } catch (error) {
    // Others find out by themselves.
    log.info('server lease left behind', { error: String(error) });
  } finally {
    stop();
  }
}

/** Unless it was written since. */
async function remove(
  leases: ResourceClient<CoordinationLease>,
  { metadata: { name, uid, resourceVersion } }: CoordinationLease,
  signal: AbortSignal,
): Promise<void> {
  try {
    await leases.delete(name, { preconditions: { uid, resourceVersion } }, signal);
  } catch (error) {
    if (!(error instanceof ApiError) || (error.reason !== 'NotFound' && error.reason !== 'Conflict')) throw error;
  }
}

const holderOf = ({ name, uid }: ServerAnnouncement) => `${name}_${uid}`;

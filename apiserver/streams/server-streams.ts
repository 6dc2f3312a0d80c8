import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { HOSTS } from '../../resources/guards/refs.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Transport } from '../client/transport.ts';
import { ServerDirectory } from '../servers/server-directory.ts';
import { keepServerLease, type ServerAnnouncement } from '../servers/server-lease.ts';
import { ControlHub } from './control-hub.ts';
import { HostHolders } from './host-holders.ts';
import { NodeletInstances } from './nodelet-instances.ts';
import { keepPresence } from './presence.ts';
import { createPeerDialer, type PeerTls } from './relay.ts';
import { StreamRouter } from './stream-router.ts';

interface ServerStreamsDeps {
  readonly cache: WatchCache;
  /** How this server is called in leases. */
  readonly serverName: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** What a server tells the others of itself. */
export interface Announcement extends Omit<ServerAnnouncement, 'name'> {
  /** What shows the others who this is; asked for each stream. */
  readonly tls: () => Promise<PeerTls>;
}

/** The hosts that are connected to a server, and the ways to those that are connected to others. Disposing it lets go of its own. */
export class ServerStreams implements AsyncDisposable {
  readonly hub: ControlHub;
  readonly router: StreamRouter;
  readonly instances: NodeletInstances;
  readonly #deps: ServerStreamsDeps;
  readonly #holders: HostHolders;
  #directory: ServerDirectory | undefined;

  constructor(deps: ServerStreamsDeps) {
    const { cache, serverName, clock, ids, log } = deps;
    this.#deps = deps;
    this.hub = new ControlHub({ clock, ids, log });
    this.#holders = new HostHolders(this.#leases());
    const caughtUp = async (signal: AbortSignal) => void (await cache.caughtUp(signal));
    this.instances = new NodeletInstances({
      hub: this.hub,
      leases: this.#leases(),
      caughtUp,
      isAlive: (server) => this.#directory?.addressOf(server) !== undefined,
      serverName,
      clock,
    });
    this.router = new StreamRouter({ hub: this.hub, holders: this.#holders, caughtUp, serverName, clock, log });
  }

  /** Lets go of hosts that are deleted, until the returned function is called. */
  dropDeleted(): () => void {
    return this.#deps.cache.resource(resourceId(HOSTS)).listen(({ removed, current }) => {
      if (!removed) return;
      this.hub.drop(current.object.metadata.name, 'its Host was deleted');
      this.instances.forget(current.object.metadata.name);
    });
  }

  /** Tells in their Leases which hosts are connected here, and by which of their nodelets, until the signal aborts. */
  async keepPresence(transport: Transport, signal: AbortSignal): Promise<void> {
    const { serverName, clock, log } = this.#deps;
    const stop = this.instances.begin(transport);
    try {
      await keepPresence({ hub: this.hub, holders: this.#holders, transport, serverName, clock, log }, signal);
    } finally {
      stop();
    }
  }

  /**
   * Makes this server known to the others of its store, and lets it ask them for the hosts that are connected there. Throws `NameTakenError`. Disposing
   * what it answers takes the server out again.
   */
  async announce(
    { uid, address, tls }: Announcement,
    transport: Transport,
    signal: AbortSignal,
  ): Promise<AsyncDisposable> {
    const { serverName: name, clock, log } = this.#deps;
    const directory = new ServerDirectory(this.#leases(), clock);
    try {
      this.#directory = directory;
      const lease = await keepServerLease({ name, uid, address, transport, directory, clock, log }, signal);
      this.router.forwardBy(createPeerDialer({ addressOf: (server) => directory.addressOf(server), tls, clock }));
      return {
        async [Symbol.asyncDispose]() {
          await lease[Symbol.asyncDispose]();
          directory[Symbol.dispose]();
        },
      };
    } catch (error) {
      directory[Symbol.dispose]();
      throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.hub[Symbol.asyncDispose]();
  }

  #leases() {
    return this.#deps.cache.resource(resourceId(CoordinationLease));
  }
}

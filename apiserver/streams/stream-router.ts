import type { WebSocket } from 'ws';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { ApiError } from '../../resources/meta/api-error.ts';
import type { StreamRequest } from '../../resources/streams/control-messages.ts';
import { type ControlHub, isNotConnected, notConnected, unavailable } from './control-hub.ts';
import type { HostHolders } from './host-holders.ts';
import type { StreamDialer } from './stream-dialer.ts';

/** Opens a stream of a host at another server, by its name. As `StreamDialer`; refuses with the cause `HostNotConnected` when nothing was begun there. */
export type PeerDialer = (
  server: string,
  host: string,
  stream: StreamRequest,
  signal: AbortSignal,
) => Promise<WebSocket>;

interface StreamRouterDeps {
  readonly hub: ControlHub;
  readonly holders: HostHolders;
  /** Waits until every write acknowledged before now is seen here. */
  caughtUp(signal: AbortSignal): Promise<void>;
  readonly serverName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A host whose server is gone is connected to another within this time, as a rule. */
const MOVE_MS = 2_000;

/**
 * Opens streams of hosts wherever their control sockets are: here, or by one hop at the server that the host's Lease names. A host that is on its
 * way from one server to another is looked for a second time once its Lease is written, or two seconds later.
 */
export class StreamRouter implements StreamDialer {
  readonly #deps: StreamRouterDeps;
  #dialPeer: PeerDialer | undefined;

  constructor(deps: StreamRouterDeps) {
    this.#deps = deps;
  }

  /** From now on other servers are asked for the hosts that are not here. */
  forwardBy(dialPeer: PeerDialer): void {
    this.#dialPeer = dialPeer;
  }

  async dial(host: string, stream: StreamRequest, signal: AbortSignal): Promise<WebSocket> {
    try {
      return await this.#dial(host, stream, signal);
    } catch (error) {
      // That it may be tried elsewhere is between servers: a client tries again in any case.
      throw isNotConnected(error) ? unavailable(error.message) : error;
    }
  }

  async #dial(host: string, stream: StreamRequest, signal: AbortSignal): Promise<WebSocket> {
    const { hub, caughtUp, log } = this.#deps;
    if (hub.has(host) || this.#dialPeer === undefined) return hub.dial(host, stream, signal);
    await caughtUp(signal);
    const asked = this.#deps.holders.of(host);
    try {
      return await this.#once(host, asked, stream, signal);
    } catch (error) {
      if (!isNotConnected(error)) throw error;
      log.info('the host is not where its lease says', { host, server: asked, why: error.message });
    }
    await this.#moved(host, asked, signal);
    return this.#once(host, this.#deps.holders.of(host), stream, signal);
  }

  async #once(
    host: string,
    holder: string | undefined,
    stream: StreamRequest,
    signal: AbortSignal,
  ): Promise<WebSocket> {
    const { hub, serverName } = this.#deps;
    if (hub.has(host) || holder === serverName || holder === undefined || this.#dialPeer === undefined)
      return hub.dial(host, stream, signal);
    return this.#dialPeer(holder, host, stream, signal);
  }

  /** Resolves when the host came here, its Lease names another holder than the one asked, or the time is over. */
  #moved(host: string, asked: string | undefined, signal: AbortSignal): Promise<void> {
    const { hub, holders, clock } = this.#deps;
    return new Promise((resolve, reject) => {
      const finish = (then: () => void) => {
        for (const stop of stops) stop();
        signal.removeEventListener('abort', gone);
        then();
      };
      const gone = () => finish(() => reject(signal.reason));
      const arrived = () => finish(resolve);
      const stops = [
        clock.after(MOVE_MS, arrived),
        // The same name as before may be a host that came back.
        holders.onChange((of, holder) => of === host && holder !== undefined && arrived()),
        hub.onChange((of, connected) => of === host && connected && arrived()),
      ];
      signal.addEventListener('abort', gone, { once: true });
      const holder = holders.of(host);
      if (signal.aborted) gone();
      else if (hub.has(host) || (holder !== undefined && holder !== asked)) arrived();
    });
  }
}

/** What is told of a host whose server cannot be reached. */
export function holderAway(host: string, server: string, why: string): ApiError {
  return notConnected(`host ${host} is connected to API server ${server}, which ${why}`);
}

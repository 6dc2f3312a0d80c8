import type { WebSocket } from 'ws';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import {
  PING_INTERVAL_MS,
  type ServerMessage,
  type StreamRequest,
  TICKET_LIFETIME_MS,
} from '../../resources/streams/control-messages.ts';

interface ControlHubDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

interface Connected {
  /** Which process of the host's nodelet it is; undefined: it does not tell. */
  readonly instance: string | undefined;
  readonly socket: WebSocket;
  readonly since: number;
  lastHeard: number;
  timesHeard: number;
}

interface Ticket {
  readonly host: string;
  readonly resolve: (socket: WebSocket) => void;
  readonly reject: (error: ApiError) => void;
}

/** At most this many streams of one host may wait for their dial-back at once. */
const MAX_WAITING_PER_HOST = 256;

/**
 * The control sockets of this server, one a host, and the tickets of streams that wait for their dial-back. A host that connects again
 * replaces its older socket. Pings every socket; one that stays silent for three intervals is ended.
 */
export class ControlHub implements AsyncDisposable {
  readonly #deps: ControlHubDeps;
  readonly #connected = new Map<string, Connected>();
  readonly #tickets = new Map<string, Ticket>();
  readonly #listeners = new Set<(host: string, connected: boolean) => void>();
  #stopPing: () => void;

  constructor(deps: ControlHubDeps) {
    this.#deps = deps;
    this.#stopPing = this.#schedulePing();
  }

  /** Hosts with a control socket now. */
  hosts(): readonly string[] {
    return [...this.#connected.keys()];
  }

  has(host: string): boolean {
    return this.#connected.has(host);
  }

  /** The nodelet process that is connected for a host, if it told. */
  instanceOf(host: string): string | undefined {
    return this.#connected.get(host)?.instance;
  }

  /** How often a host was heard on the socket it has here; asks it to say something now. */
  probe(host: string): number | undefined {
    const connected = this.#connected.get(host);
    connected?.socket.ping();
    return connected?.timesHeard;
  }

  /** Hears each host come and go; the returned function stops it. */
  onChange(listener: (host: string, connected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a host's control socket. */
  attach(host: string, socket: WebSocket, instance?: string): void {
    const now = this.#deps.clock.monotonic();
    const entry: Connected = { instance, socket, since: now, lastHeard: now, timesHeard: 0 };
    this.#connected.get(host)?.socket.close(4000, 'the host connected again');
    this.#connected.set(host, entry);
    const heard = () => {
      entry.lastHeard = this.#deps.clock.monotonic();
      entry.timesHeard++;
    };
    socket.on('pong', heard);
    socket.on('message', heard);
    socket.on('error', () => socket.terminate());
    socket.once('close', () => {
      if (this.#connected.get(host) !== entry) return;
      this.#connected.delete(host);
      // What it was asked for last it may not have heard, and where it goes next its ticket is of no use.
      for (const ticket of [...this.#tickets.values()])
        if (ticket.host === host) ticket.reject(notConnected(`host ${host} went away`));
      this.#tell(host, false);
    });
    this.#deps.log.info('host connected', { host });
    this.#tell(host, true);
  }

  /** Ends a host's control socket, if it has one: it may not speak for that host any longer. */
  drop(host: string, why: string, code = 4403): void {
    this.#connected.get(host)?.socket.close(code, why);
  }

  /**
   * Asks a host to open a stream; resolves with its socket. Throws `ServiceUnavailable` when the host is not connected (then with the cause
   * `HostNotConnected`, and nothing was begun) or does not answer in time.
   */
  async dial(host: string, stream: StreamRequest, signal: AbortSignal): Promise<WebSocket> {
    const connected = this.#connected.get(host);
    if (connected === undefined) throw notConnected(`host ${host} is not connected`);
    const waiting = [...this.#tickets.values()].filter((ticket) => ticket.host === host).length;
    if (waiting >= MAX_WAITING_PER_HOST) throw unavailable(`host ${host} has ${waiting} streams waiting already`);
    const ticket = this.#deps.ids.secret(16);
    const message: ServerMessage = { type: 'dial', ticket, stream };
    return new Promise<WebSocket>((resolve, reject) => {
      let over = false;
      const finish = (then: () => void) => {
        over = true;
        stop();
        signal.removeEventListener('abort', onAbort);
        this.#tickets.delete(ticket);
        then();
      };
      const onAbort = () => finish(() => reject(signal.reason));
      const late = () =>
        finish(() => reject(unavailable(`host ${host} did not open the stream within ${TICKET_LIFETIME_MS / 1000} s`)));
      const stop = this.#deps.clock.after(TICKET_LIFETIME_MS, late);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#tickets.set(ticket, {
        host,
        // Between redeeming and the end of the handshake the caller may have gone.
        resolve: (socket) => (over ? socket.close(1001, 'nobody waits for it') : finish(() => resolve(socket))),
        reject: (error) => finish(() => reject(error)),
      });
      if (signal.aborted) onAbort();
      else connected.socket.send(JSON.stringify(message));
    });
  }

  /** Redeems a ticket: what to do with the socket, once. Undefined for a ticket that is unknown, used, late or another host's. */
  redeem(ticket: string, host: string): ((socket: WebSocket) => void) | undefined {
    const waiting = this.#tickets.get(ticket);
    if (waiting === undefined || waiting.host !== host) return undefined;
    this.#tickets.delete(ticket);
    return waiting.resolve;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopPing();
    const sockets = [...this.#connected.values()].map(({ socket }) => socket);
    this.#connected.clear();
    for (const socket of sockets) socket.close(1001, 'the server is stopping');
    for (const ticket of [...this.#tickets.values()]) ticket.reject(notConnected('the server is stopping'));
  }

  #schedulePing(): () => void {
    return this.#deps.clock.after(PING_INTERVAL_MS, () => {
      const now = this.#deps.clock.monotonic();
      for (const { socket, lastHeard } of this.#connected.values()) {
        if (now - lastHeard > 3 * PING_INTERVAL_MS) socket.terminate();
        else socket.ping();
      }
      this.#stopPing = this.#schedulePing();
    });
  }

  #tell(host: string, connected: boolean): void {
    for (const listener of [...this.#listeners]) listener(host, connected);
  }
}

/** The cause of a refusal that may be tried again elsewhere: no host was asked, or none can answer. */
const HOST_NOT_CONNECTED = 'HostNotConnected';

export function notConnected(message: string): ApiError {
  const causes = [{ reason: HOST_NOT_CONNECTED, message }];
  return new ApiError('ServiceUnavailable', message, { details: { retryAfterSeconds: 1, causes } });
}

export function isNotConnected(error: unknown): error is ApiError {
  return (
    error instanceof ApiError && error.details?.causes?.some(({ reason }) => reason === HOST_NOT_CONNECTED) === true
  );
}

/** 503, to be tried again in a second. */
export function unavailable(message: string): ApiError {
  return new ApiError('ServiceUnavailable', message, { details: { retryAfterSeconds: 1 } });
}

import type { WebSocket } from 'ws';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { DIALBACK_PROTOCOL, type StreamRequest, TICKET_LIFETIME_MS } from '../../resources/streams/control-messages.ts';
import { type Driver, DriverError } from '../drivers/driver.ts';
import { serveExec } from './serve-exec.ts';
import { serveLogs } from './serve-logs.ts';
import { hostPath, type OpenSocket, openSocket, type ServerAddress } from './server-socket.ts';
import { StreamSocket } from './stream-socket.ts';

interface DialbackOptions {
  readonly host: string;
  readonly driver: Driver;
  readonly clock: Clock;
  readonly log: Logger;
  /** How sockets are opened, where it is not by `openSocket`. */
  readonly open?: OpenSocket | undefined;
}

/** Streams one host serves at once; a client beyond it is told so. */
const MAX_STREAMS = 256;

/** Dials back for every ticket, each stream on a socket of its own, so that a stuck one holds up nobody. */
export class Dialback {
  readonly #options: DialbackOptions;
  readonly #streams = new Set<Promise<void>>();

  constructor(options: DialbackOptions) {
    this.#options = options;
  }

  /** How many streams are open. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Serves one stream to the server that asked for it, until it ends or the signal aborts. */
  dial(ticket: string, stream: StreamRequest, server: ServerAddress, signal: AbortSignal): void {
    const full = this.#streams.size >= MAX_STREAMS;
    const work = this.#serve(ticket, stream, server, full, signal)
      .catch((error: unknown) => this.#options.log.info('stream not served', { kind: stream.kind, why: String(error) }))
      .finally(() => this.#streams.delete(work));
    this.#streams.add(work);
  }

  /** Resolves when no stream is open any more: after the signal given to `dial` has aborted. */
  async drained(): Promise<void> {
    while (this.#streams.size > 0) await Promise.allSettled(this.#streams);
  }

  async #serve(
    ticket: string,
    stream: StreamRequest,
    server: ServerAddress,
    full: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { host, driver, clock, open = openSocket } = this.#options;
    const path = `${hostPath(host, 'dialback')}?ticket=${encodeURIComponent(ticket)}`;
    const raw = await open(server, path, DIALBACK_PROTOCOL, signal);
    const socket = new StreamSocket(raw);
    const leave = () => socket.terminate();
    signal.addEventListener('abort', leave, { once: true });
    try {
      await opened(raw, clock, signal);
      if (full) throw new DriverError('Failed', `the host serves ${MAX_STREAMS} streams already`);
      if (stream.kind === 'exec') await serveExec(socket, stream, driver, signal);
      else await serveLogs(socket, stream, driver, signal);
      socket.close();
    } catch (error) {
      socket.fail(error);
      if (!socket.closed.aborted) throw error;
    } finally {
      await ended(socket, clock);
      signal.removeEventListener('abort', leave);
    }
  }
}

/** Resolves when the socket is open; after the ticket's lifetime it would be of no use. */
function opened(socket: WebSocket, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const cancel = clock.after(TICKET_LIFETIME_MS, () => {
      reject(new Error(`the server did not take the dial-back within ${TICKET_LIFETIME_MS / 1000} s`));
      socket.terminate();
    });
    socket.once('open', () => {
      cancel();
      resolve();
    });
    socket.once('error', (error) => {
      cancel();
      reject(error);
    });
    socket.once('close', () => {
      cancel();
      reject(new Error('the server closed the dial-back'));
    });
  });
}

/** Waits for the other side's close; one that does not come is not waited for long. */
async function ended(socket: StreamSocket, clock: Clock): Promise<void> {
  if (socket.closed.aborted) return;
  await new Promise<void>((resolve) => {
    const cancel = clock.after(TICKET_LIFETIME_MS, () => socket.terminate());
    socket.closed.addEventListener(
      'abort',
      () => {
        cancel();
        resolve();
      },
      { once: true },
    );
  });
}

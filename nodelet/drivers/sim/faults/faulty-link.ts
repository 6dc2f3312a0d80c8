import { WebSocket } from 'ws';
import type { ApiResponse, Transport } from '../../../../apiserver/client/transport.ts';
import { UnreachableError } from '../../../../apiserver/client/unreachable-error.ts';
import type { Clock } from '../../../../resources/ambient/clock.ts';
import { type OpenSocket, openSocket } from '../../../streams/server-socket.ts';
import { orAborted } from '../../or-aborted.ts';
import type { HostFaults } from './host-faults.ts';

/** How long a request waits that gets nowhere: as long as a connection to a server may take to come up. */
const ANSWER_MS = 10_000;

/**
 * The way from one host to the API server. In a partition nothing passes, either way: what is on its way waits, and what waits too long fails. Without its
 * heartbeat only the control socket is missing.
 */
export class FaultyLink implements Disposable {
  readonly #host: string;
  readonly #faults: HostFaults;
  readonly #clock: Clock;
  readonly #control = new Set<WebSocket>();
  readonly #streams = new Set<WebSocket>();
  readonly #stopHearing: () => void;
  #changed = Promise.withResolvers<void>();

  constructor(host: string, faults: HostFaults, clock: Clock) {
    this.#host = host;
    this.#faults = faults;
    this.#clock = clock;
    this.#stopHearing = faults.onChange(() => this.#apply());
  }

  transport(inner: Transport): Transport {
    return async (request) => {
      await this.#pass(request.signal, false);
      const response = await inner(request);
      try {
        await this.#pass(request.signal, true);
      } catch (error) {
        await response.body[Symbol.asyncIterator]().return?.();
        throw error;
      }
      return { ...response, body: this.#held(response.body, request.signal) };
    };
  }

  /** Opens sockets as `openSocket` does; where there is no way, it waits for one. */
  readonly open: OpenSocket = async (server, path, protocol, signal) => {
    const isControl = path.includes('/control');
    while (this.#isShut(isControl)) await orAborted(this.#changed.promise, signal);
    const socket = await openSocket(server, path, protocol, signal);
    const kept = isControl ? this.#control : this.#streams;
    kept.add(socket);
    socket.once('close', () => kept.delete(socket));
    if (this.#isShut(isControl)) socket.terminate();
    return socket;
  };

  /** Asks something that is asked of the API server. */
  async ask<T>(question: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#pass(signal, false);
    const answer = await question(signal);
    await this.#pass(signal, true);
    return answer;
  }

  /** Ends every socket at once, as the death of a process does. */
  cut(): void {
    for (const socket of [...this.#control, ...this.#streams]) socket.terminate();
  }

  [Symbol.dispose](): void {
    this.#stopHearing();
  }

  #isShut(isControl: boolean): boolean {
    return this.#faults.cutOff || (isControl && this.#faults.heartbeatLost);
  }

  #apply(): void {
    const { cutOff, heartbeatLost } = this.#faults;
    for (const socket of this.#control) {
      if (heartbeatLost || (cutOff && socket.readyState !== WebSocket.OPEN)) socket.terminate();
      // It looks as alive as ever: only silence tells.
      else if (cutOff) socket.pause();
      else socket.resume();
    }
    if (cutOff) for (const socket of this.#streams) socket.terminate();
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Waits until there is a way. `sent`: whether what waits is the answer. */
  async #pass(signal: AbortSignal | undefined, sent: boolean): Promise<void> {
    if (!this.#faults.cutOff) return;
    const late = Promise.withResolvers<never>();
    const stop = this.#clock.after(ANSWER_MS, () => {
      const message = `the API server cannot be reached: host ${this.#host} is cut off (simulated)`;
      late.reject(new UnreachableError('timeout', 'the API server', message, { sent }));
    });
    try {
      while (this.#faults.cutOff) {
        const way = Promise.race([this.#changed.promise, late.promise]);
        await (signal === undefined ? way : orAborted(way, signal));
      }
    } finally {
      stop();
    }
  }

  /** A watch that hears nothing looks like one of which there is nothing to hear. */
  async *#held(
    body: ApiResponse['body'],
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of body) {
      while (this.#faults.cutOff) {
        const way = this.#changed.promise;
        await (signal === undefined ? way : orAborted(way, signal));
      }
      yield chunk;
    }
  }
}

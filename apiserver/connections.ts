import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Why a request that nobody waits for any longer is given up. */
const GONE = 'the client went away';

/**
 * The requests under way on each connection. An answer that waits behind another on its connection is told nothing when that closes, so each
 * request is given up with the connection, whoever's turn it is.
 */
export class Connections {
  readonly #underWay = new Map<Socket, Set<AbortController>>();

  /** How many requests are under way on a connection. */
  underWay(socket: Socket): number {
    return this.#underWay.get(socket)?.size ?? 0;
  }

  /** Notes a request; the signal aborts when its answer cannot be delivered any longer. Disposed when it is over. */
  enter(outgoing: ServerResponse, socket: Socket): Disposable & { readonly signal: AbortSignal } {
    const gone = new AbortController();
    const here = this.#of(socket);
    here.add(gone);
    const closed = () => {
      // Every answer closes in the end; only one that was not delivered gives its request up.
      if (!outgoing.writableFinished) gone.abort(new Error(GONE));
    };
    outgoing.once('close', closed);
    if (socket.destroyed) closed();
    return {
      signal: gone.signal,
      [Symbol.dispose]: () => {
        outgoing.removeListener('close', closed);
        here.delete(gone);
      },
    };
  }

  #of(socket: Socket): Set<AbortController> {
    const known = this.#underWay.get(socket);
    if (known !== undefined) return known;
    const made = new Set<AbortController>();
    this.#underWay.set(socket, made);
    socket.once('close', () => {
      this.#underWay.delete(socket);
      for (const each of made) each.abort(new Error(GONE));
    });
    return made;
  }
}

import type { Socket } from 'node:net';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Outgoing } from './outgoing.ts';

/** Why a request that nobody waits for any longer is given up. */
const GONE = 'the client went away';

interface Patience {
  readonly clock: Clock;
  /** How long a reader may take none of an answer, in milliseconds, before it is ended, with its connection where that has no other. */
  readonly stalledMs: number;
  /** How often that is looked at, in milliseconds. */
  readonly checkMs: number;
}

/**
 * The requests under way on each connection. An answer that waits behind another on its connection is told nothing when that closes, so each
 * request is given up with the connection, whoever's turn it is.
 */
export class Connections {
  readonly #underWay = new Map<Socket, Set<UnderWay>>();
  readonly patience: Patience;
  #looking = false;

  constructor(patience: Patience) {
    this.patience = patience;
  }

  /** How many requests are under way on a connection. */
  underWay(socket: Socket): number {
    return this.#underWay.get(socket)?.size ?? 0;
  }

  /** Notes a request until its answer is delivered, or cannot be any longer. */
  enter(outgoing: Outgoing, socket: Socket): UnderWay {
    const here = this.#of(socket);
    const entered = new UnderWay(outgoing);
    here.add(entered);
    const closed = () => {
      here.delete(entered);
      // Every answer closes in the end; only one that was not delivered gives its request up.
      if (!outgoing.writableFinished) entered.giveUp();
    };
    outgoing.once('close', closed);
    if (socket.destroyed) closed();
    return entered;
  }

  /** From now on the answer is all written, and its reader has to take it in time: one look at all of them together costs less than a timer each. */
  deliver(entered: UnderWay): void {
    entered.writtenAt = this.patience.clock.monotonic();
    if (!this.#looking) this.#lookLater();
  }

  #lookLater(): void {
    this.#looking = true;
    this.patience.clock.after(this.patience.checkMs, () => {
      this.#looking = false;
      if (this.#endStalled()) this.#lookLater();
    });
  }

  /** Whether some are still being delivered. */
  #endStalled(): boolean {
    const now = this.patience.clock.monotonic();
    let left = false;
    for (const here of this.#underWay.values()) {
      for (const entered of here) {
        if (entered.writtenAt === undefined) continue;
        left = true;
        // One that waits for the answers before it has nothing to be read yet.
        if (entered.outgoing.socket === null) entered.writtenAt = now;
        else if (now - entered.writtenAt >= this.patience.stalledMs) entered.outgoing.destroy();
      }
    }
    return left;
  }

  #of(socket: Socket): Set<UnderWay> {
    const known = this.#underWay.get(socket);
    if (known !== undefined) return known;
    const made = new Set<UnderWay>();
    this.#underWay.set(socket, made);
    socket.once('close', () => {
      this.#underWay.delete(socket);
      for (const each of made) each.giveUp();
    });
    return made;
  }
}

/** One request under way. */
export class UnderWay {
  readonly outgoing: Outgoing;
  /** When its answer was all written, by the monotonic clock; undefined before. */
  writtenAt: number | undefined;
  #gone = false;
  #controller: AbortController | undefined;

  constructor(outgoing: Outgoing) {
    this.outgoing = outgoing;
  }

  /** Aborts when the answer cannot be delivered any longer. Made when first asked for: most requests are answered before they wait for anything. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#gone) this.#controller.abort(new Error(GONE));
    }
    return this.#controller.signal;
  }

  giveUp(): void {
    this.#gone = true;
    this.#controller?.abort(new Error(GONE));
  }
}

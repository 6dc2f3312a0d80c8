import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { signalUntil } from '../../../resources/ambient/signal-until.ts';
import { CHOICE_PATH, type Choice, type Chosen, decodeChoice, encodeChoice } from './choice-messages.ts';
import type { EtcdConnection } from './connection.ts';
import type { Layout } from './layout.ts';
import type { Fence, Membership } from './membership.ts';
import { decodeRange, encodeRange, RANGE_PATH } from './range-messages.ts';
import type { Revisions } from './revisions.ts';
import { encodeSole, type HolderMark, readSole } from './sole-record.ts';
import { type Moment, SoleRight } from './sole-right.ts';
import type { KeyEvent } from './watch-messages.ts';

/** How often is looked who is there, well within the time that an answer is good for; and how long one look may take. */
const TICK_MS = 400;
const LOOK_MS = 1_000;
/** Of the lease of the membership, which lasts for five seconds. */
const KEEP_ALIVE_MS = 1_000;

interface SoleKeeperDeps {
  readonly membership: Membership;
  readonly connection: EtcdConnection;
  readonly layout: Layout;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly log: Logger;
  readonly holderMark?: (() => Promise<HolderMark | undefined>) | undefined;
  /** etcd answered. */
  readonly heard: () => void;
}

/**
 * Keeps up the membership of this process, and the sole right while it is the only one: `ROOT/sole` is made only where no other member is there, and every look
 * that shows the same extends it. The first look that shows another, which the watch makes haste for, ends it here, and only then in etcd. One thing goes on at a
 * time, so that no look from before extends it after that.
 */
export class SoleKeeper {
  readonly right: SoleRight;
  readonly #deps: SoleKeeperDeps;
  /** etcd's revision of the right that is ours, and of the one that was given up: whether that is gone yet, nobody can tell. */
  #held: number | undefined;
  #givenUp: number | undefined;
  #keptAtMs = 0;
  #isWoken = false;
  #wake = () => {};

  constructor(deps: SoleKeeperDeps) {
    this.#deps = deps;
    this.right = new SoleRight(deps.clock);
  }

  /** An event of the store's own keys, in the order of the watch. */
  heard(event: KeyEvent): void {
    const { layout, membership } = this.#deps;
    if (!layout.isMember(event.key)) return;
    const { fence } = membership;
    if (!event.key.equals(membership.key)) {
      this.#isWoken = true;
      this.#wake();
    } else if (event.deleted && fence !== undefined && event.modRevision > fence.createRevision) this.lost(fence);
  }

  /** What the watch must wait for before it tells more: what others do while this process is no member, it may not know before somebody else's readers do. */
  closed(): Promise<unknown> | undefined {
    const { membership } = this.#deps;
    return membership.fence === undefined ? membership.entered() : undefined;
  }

  /** Resolves once it was a member at some moment since the call, and had been all the time or has just become one. */
  async confirm(signal: AbortSignal): Promise<void> {
    const { membership, connection } = this.#deps;
    const { fence } = membership;
    if (fence !== undefined) {
      const question = encodeRange({ keys: fence.key, keysOnly: true });
      const [own] = decodeRange(await connection.ask(RANGE_PATH, question, signal)).pairs;
      if (own?.createRevision !== fence.createRevision) this.lost(fence);
    }
    await this.closed();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#isWoken = false;
      const { fence } = this.#deps.membership;
      if (fence !== undefined) await this.#tick(fence, signal);
      await this.#rest(signal);
    }
  }

  /** From here on it has no right, and is no member. Whoever waits to be one is told the reason. */
  end(reason: Error): void {
    this.right.drop();
    this.#deps.membership.end(reason);
  }

  /** Gives everything back, as far as etcd answers soon. After `end`, and after `run`. */
  async close(): Promise<void> {
    const { clock, membership } = this.#deps;
    const held = this.#held;
    const { signal, stop } = signalUntil([], { afterMs: LOOK_MS, late: overdue, clock });
    await Promise.allSettled([held !== undefined && this.#giveUp(held, signal), membership.leave(signal)]);
    stop();
  }

  async #tick(fence: Fence, ending: AbortSignal): Promise<void> {
    const { clock, membership, log } = this.#deps;
    const { signal, stop } = signalUntil([ending], { afterMs: LOOK_MS, late: overdue, clock });
    const isDue = clock.monotonic() - this.#keptAtMs >= KEEP_ALIVE_MS;
    const keeping = async () => {
      await membership.keepAlive(signal);
      this.#keptAtMs = clock.monotonic();
    };
    for (const done of await Promise.allSettled([this.#look(fence, signal), isDue && keeping()]))
      if (done.status === 'rejected') log.debug('etcd does not say who is there', { error: String(done.reason) });
    stop();
  }

  async #look(fence: Fence, signal: AbortSignal): Promise<void> {
    const { layout, membership } = this.#deps;
    const asked = this.right.now();
    const whenMet = [{ range: { keys: layout.members, keysOnly: true } }, { range: { keys: layout.sole } }];
    const [members, soles] = (await this.#choose({ when: [], whenMet, otherwise: [] }, signal)).answers;
    this.#deps.heard();
    const own = members?.pairs.find(({ key }) => key.equals(fence.key));
    if (own?.createRevision !== fence.createRevision) return this.lost(fence);
    const isAlone = members?.count === 1;
    if (!isAlone) this.right.drop();
    const [sole] = soles?.pairs ?? [];
    if (sole === undefined) return isAlone ? this.#take(fence, signal) : undefined;
    if (readSole(sole).holder !== membership.id) return;
    if (isAlone && sole.createRevision !== this.#givenUp) return this.#extend(asked, sole.createRevision);
    await this.#giveUp(sole.createRevision, signal);
  }

  async #take(fence: Fence, signal: AbortSignal): Promise<void> {
    const { layout, membership, holderMark, log } = this.#deps;
    const mark = await holderMark?.().catch(() => undefined);
    const value = encodeSole({ holder: membership.id, ...(mark && { process: mark.own }) });
    const others = layout.othersThan(fence.key).map((absent) => ({ absent }));
    const asked = this.right.now();
    const { met, revision } = await this.#choose(
      {
        when: [fence, ...others, { absent: layout.sole }],
        whenMet: [{ put: { key: layout.sole, value } }],
        otherwise: [],
      },
      signal,
    );
    if (!met) return;
    this.#extend(asked, revision);
    log.info('nobody else has the store open: reads need not ask etcd', { member: membership.id });
  }

  #extend(asked: Moment, createRevision: number): void {
    this.#held = createRevision;
    // What others wrote before is in what the watch tells up to there.
    this.right.told(this.#deps.revisions.ours(createRevision));
    this.right.extend(asked);
  }

  async #giveUp(createRevision: number, signal: AbortSignal): Promise<void> {
    const { sole } = this.#deps.layout;
    this.#givenUp = createRevision;
    await this.#choose({ when: [{ key: sole, createRevision }], whenMet: [{ remove: sole }], otherwise: [] }, signal);
  }

  /** The key that was made then is gone. */
  lost(fence: Fence): void {
    this.right.drop();
    this.#deps.membership.lost(fence);
  }

  async #choose(choice: Choice, signal: AbortSignal): Promise<Chosen> {
    return decodeChoice(await this.#deps.connection.askOnce(CHOICE_PATH, encodeChoice(choice), signal));
  }

  /** Until the next look, or until somebody comes or goes. */
  #rest(signal: AbortSignal): Promise<void> {
    if (this.#isWoken || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        stop();
        signal.removeEventListener('abort', done);
        this.#wake = () => {};
        resolve();
      };
      const stop = this.#deps.clock.after(TICK_MS, done);
      signal.addEventListener('abort', done, { once: true });
      this.#wake = done;
    });
  }
}

const overdue = () => new Error('etcd did not answer in a second');

import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Ids } from '../../../resources/ambient/ids.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { StoreError } from '../store.ts';
import type { EtcdConnection } from './connection.ts';
import { choose } from './identity.ts';
import type { KeyPair } from './key-pair.ts';
import type { Layout } from './layout.ts';
import { Lease } from './lease.ts';
import { type HolderMark, readSole } from './sole-record.ts';

/**
 * How long a new member waits for the sole right of another that does not give it up: by then it has ended, as it lasts for `RIGHT_MS` after a question that
 * did not show the new member. The rest is for clocks that run at different rates.
 */
export const GIVEN_UP_MS = 1_500;
const POLL_MS = 10;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;
const NOTHING = Buffer.alloc(0);

/** What each write is sent with: nothing of it is done unless that key is still the one that was made then. */
export interface Fence {
  readonly key: Buffer;
  /** etcd's. */
  readonly createRevision: number;
}

export interface MembershipDeps {
  readonly connection: EtcdConnection;
  readonly layout: Layout;
  /** etcd's revision of the identity. */
  readonly writtenAt: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Asked for once it is needed. */
  readonly holderMark?: (() => Promise<HolderMark | undefined>) | undefined;
}

/**
 * That this process may write to the store, and answer for it: a key of its own in etcd, as long as it lives. Where another holds the sole right, a new member
 * waits for the end of that. A process whose key is gone, as it was halted for longer than its lease, knows nothing and does nothing until it is in again.
 */
export class Membership {
  readonly id: string;
  readonly key: Buffer;
  readonly #deps: MembershipDeps;
  readonly #ending = new AbortController();
  #lease: Lease | undefined;
  #fence: Fence | undefined;
  #entering: Promise<Fence> | undefined;

  private constructor(deps: MembershipDeps) {
    this.#deps = deps;
    this.id = deps.ids.suffix(12);
    this.key = deps.layout.member(this.id);
  }

  /** Resolves inside. EtcdCallError; StoreError `Unreadable` when the identity was changed meanwhile. A lease that was granted before saves a moment. */
  static async join(deps: MembershipDeps, granted?: Promise<Lease>): Promise<Membership> {
    const membership = new Membership(deps);
    await membership.#enter(granted);
    return membership;
  }

  /** Undefined while it is not known to be in. */
  get fence(): Fence | undefined {
    return this.#fence;
  }

  /** Resolves inside, after whatever outage. StoreError `Unreadable` when the identity was changed, and whatever it was ended with. */
  entered(): Promise<Fence> {
    if (this.#fence !== undefined) return Promise.resolve(this.#fence);
    this.#entering ??= this.#enterAgain().finally(() => {
      this.#entering = undefined;
    });
    return this.#entering;
  }

  /** The key that was made then is gone. */
  lost(fence: Fence): void {
    if (this.#fence !== fence) return;
    this.#fence = undefined;
    this.#deps.log.info('its key in etcd is gone: it is not a member until it is in again', { member: this.id });
    this.entered().catch(() => {});
  }

  async keepAlive(signal: AbortSignal): Promise<void> {
    const fence = this.#fence;
    if (fence === undefined || this.#lease === undefined) return;
    if (!(await this.#lease.keep(signal))) this.lost(fence);
  }

  /** Whoever waits to be in is told the reason. */
  end(reason: Error): void {
    this.#ending.abort(reason);
    this.#fence = undefined;
  }

  async leave(signal: AbortSignal): Promise<void> {
    await this.#lease?.revoke(signal);
  }

  async #enterAgain(): Promise<Fence> {
    const { clock, log } = this.#deps;
    const { signal } = this.#ending;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      signal.throwIfAborted();
      try {
        return await this.#enter();
      } catch (error) {
        if (error instanceof StoreError) throw error;
        log.debug('not a member yet', { error: String(error) });
      }
      await clock.sleep(waitMs, signal);
    }
  }

  async #enter(granted?: Promise<Lease>): Promise<Fence> {
    const { connection, ids } = this.#deps;
    const { signal } = this.#ending;
    let lease = await (granted ?? Lease.grant(connection, ids, signal));
    for (;;) {
      const { fence, sole } = await this.#put(lease);
      if (await this.#isFree(fence, sole)) {
        signal.throwIfAborted();
        this.#lease = lease;
        this.#fence = fence;
        return fence;
      }
      lease = await Lease.grant(connection, ids, signal);
    }
  }

  async #put(lease: Lease): Promise<{ readonly fence: Fence; readonly sole: KeyPair | undefined }> {
    const { connection, layout, writtenAt } = this.#deps;
    const { met, answers } = await choose(
      connection,
      {
        when: [{ key: layout.meta, modRevision: writtenAt }],
        whenMet: [{ put: { key: this.key, value: NOTHING, lease: lease.id } }, ...this.#both()],
        otherwise: [],
      },
      this.#ending.signal,
    );
    const [own, sole] = answers.slice(1).map(({ pairs }) => pairs[0]);
    if (!met || own === undefined)
      throw new StoreError('Unreadable', `the identity of the store under ${layout.root} in etcd was changed`);
    return { fence: { key: this.key, createRevision: own.createRevision }, sole };
  }

  /** Waits until nobody else has the sole right. False when the key that was put is gone again by then. */
  async #isFree(fence: Fence, found: KeyPair | undefined): Promise<boolean> {
    const { connection, layout, clock } = this.#deps;
    const { signal } = this.#ending;
    // After the answer to the put: any question that does not show the new key was asked before.
    const sinceMs = clock.monotonic();
    let sole = found;
    let isOver = sole !== undefined && (await this.#isGone(sole));
    while (sole !== undefined && readSole(sole).holder !== this.id) {
      isOver ||= clock.monotonic() - sinceMs >= GIVEN_UP_MS;
      if (!isOver) await clock.sleep(POLL_MS, signal);
      const still = { key: layout.sole, createRevision: sole.createRevision };
      const remove = isOver ? [{ remove: layout.sole }] : [];
      const { answers } = await choose(
        connection,
        { when: [fence, still], whenMet: [...remove, ...this.#both()], otherwise: this.#both() },
        signal,
      );
      const [own, next] = answers.slice(-2).map(({ pairs }) => pairs[0]);
      if (own?.createRevision !== fence.createRevision) return false;
      sole = next;
    }
    return true;
  }

  async #isGone(sole: KeyPair): Promise<boolean> {
    const { process } = readSole(sole);
    if (process === undefined) return false;
    const mark = await this.#deps.holderMark?.().catch(() => undefined);
    return (await mark?.isGone(process).catch(() => false)) ?? false;
  }

  #both() {
    return [{ range: { keys: this.key } }, { range: { keys: this.#deps.layout.sole } }];
  }
}

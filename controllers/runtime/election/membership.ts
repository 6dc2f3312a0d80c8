import type { ResourceClient } from '../../../apiserver/client/client.ts';
import { type Clock, microTime } from '../../../resources/ambient/clock.ts';
import type { Ids } from '../../../resources/ambient/ids.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { withDeadline } from '../../../resources/ambient/with-deadline.ts';
import type { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { hasReason, orGone } from '../write.ts';
import { LONE_MEMBER, MEMBER_DURATION_S, memberName, newMemberLease } from './lease-records.ts';

const RENEW_MS = 1_300;
/** How long after a renewal was sent its member may lead: a quarter less than others wait after they saw it. */
const STANDING_MS = MEMBER_DURATION_S * 750;
/** Two servers can be tried before standing is lost. */
export const ANSWER_MS = 800;
const RETRY_MS = 100;
const MAX_FORMER = 16;

interface MembershipOptions {
  /** In the namespace of the election. */
  readonly leases: ResourceClient<CoordinationLease>;
  readonly duties: readonly string[];
  /** Which process this is, for people. */
  readonly where: string;
  /** The same, for others of its machine. */
  readonly process?: string | undefined;
  /** No other process can serve the store: there is nothing to renew, nor to wait for. */
  readonly lone: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Told of each renewal, of each new name, and when standing is lost. */
  readonly onChange: () => void;
}

/**
 * A process's own Lease in the election, renewed as long as `run` goes on. A name is used once: when its Lease is gone the process goes on under
 * a new one, and the old one never leads again.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #former = new Set<string>();
  #name: string | undefined;
  #sentAt: { readonly monotonicMs: number; readonly wallMs: number } | undefined;
  #version: string | undefined;
  #count = 0;
  #onLost = () => {};

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** Names this process had before, none of which leads. */
  get former(): ReadonlySet<string> {
    return this.#former;
  }

  /** The name, while it is certain that no other member can have removed it; judged at this very moment. */
  get standing(): string | undefined {
    if (this.#name === undefined || this.#options.lone) return this.#name;
    const { clock } = this.#options;
    if (this.#sentAt === undefined) return undefined;
    // A machine that slept may have a monotonic clock that did so too. Its own wall clock tells, and can but cut a standing short.
    const elapsedMs = Math.max(clock.monotonic() - this.#sentAt.monotonicMs, clock.now() - this.#sentAt.wallMs);
    return elapsedMs < STANDING_MS ? this.#name : undefined;
  }

  /** The version of the last renewal that was answered. */
  get version(): string | undefined {
    return this.#version;
  }

  /** Joins and renews until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, lone } = this.#options;
    let cancel = () => {};
    while (!signal.aborted) {
      const sentAt = { monotonicMs: clock.monotonic(), wallMs: clock.now() };
      let waitMs = RENEW_MS;
      try {
        await withDeadline(clock, ANSWER_MS, signal, (ends) =>
          this.#name === undefined ? this.#join(ends) : this.#renew(ends),
        );
        if (this.#name === undefined) waitMs = 0;
        else {
          this.#sentAt = sentAt;
          cancel();
          cancel = lone
            ? () => {}
            : clock.after(sentAt.monotonicMs + STANDING_MS - clock.monotonic(), this.#options.onChange);
        }
      } catch (error) {
        if (signal.aborted) break;
        log.debug('membership not renewed', { member: this.#name, error: String(error) });
        waitMs = RETRY_MS;
      }
      this.#options.onChange();
      if (lone && this.#name !== undefined) {
        await this.#untilLost(signal);
        continue;
      }
      const left = waitMs === RENEW_MS ? sentAt.monotonicMs + RENEW_MS - clock.monotonic() : waitMs;
      await clock.sleep(Math.max(0, left), signal).catch(() => {});
    }
    cancel();
  }

  /** The Lease was seen to be gone. */
  lost(name: string): void {
    if (name !== this.#name) return;
    if (!this.#options.lone) this.#former.add(name);
    const [oldest] = this.#former;
    if (oldest !== undefined && this.#former.size > MAX_FORMER) this.#former.delete(oldest);
    this.#name = undefined;
    this.#sentAt = undefined;
    this.#version = undefined;
    this.#onLost();
  }

  /** Removes the Lease: others need not wait for it to run out. Call it when nothing is led any more. */
  async leave(signal: AbortSignal): Promise<void> {
    const { leases, clock, lone } = this.#options;
    const name = this.#name;
    if (name === undefined || lone) return;
    this.lost(name);
    await withDeadline(clock, ANSWER_MS, signal, (ends) => orGone(leases.delete(name, {}, ends)));
  }

  #untilLost(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#onLost = resolve;
      if (signal.aborted || this.#name === undefined) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  async #join(signal: AbortSignal): Promise<void> {
    const { leases, ids, clock, where, duties, lone, process } = this.#options;
    const name = lone ? LONE_MEMBER : memberName(ids.suffix(8));
    const renewTime = lone ? undefined : microTime(clock.now(), this.#count++);
    try {
      const made = await leases.create(newMemberLease(name, { where, duties, renewTime, process }), {}, signal);
      this.#version = made.metadata.resourceVersion;
    } catch (error) {
      // The lone member's Lease outlives its process, whose store nobody else has had since. Any other name is chosen anew.
      if (!hasReason(error, 'AlreadyExists')) throw error;
      if (!lone) return;
    }
    this.#name = name;
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { leases, clock, log } = this.#options;
    const name = this.#name ?? '';
    const spec = { renewTime: microTime(clock.now(), this.#count++) };
    const renewed = await orGone(leases.patch(name, { spec }, {}, signal));
    if (renewed === undefined) {
      log.info('no longer a member', { member: name });
      this.lost(name);
    } else if (this.#name === name) this.#version = renewed.metadata.resourceVersion;
  }
}

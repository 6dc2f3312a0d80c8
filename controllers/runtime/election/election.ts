import type { ApiClient, ResourceClient } from '../../../apiserver/client/client.ts';
import { type Clock, microTime } from '../../../resources/ambient/clock.ts';
import type { Ids } from '../../../resources/ambient/ids.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { withDeadline } from '../../../resources/ambient/with-deadline.ts';
import { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import type { Term } from '../../../resources/meta/term-header.ts';
import { ELECTION_NAMESPACE, ELECTION_SELECTOR } from '../../../resources/streams/election-leases.ts';
import { Cache } from '../cache.ts';
import { Reflector } from '../reflector.ts';
import { hasReason } from '../write.ts';
import { type Act, decide } from './decide.ts';
import { ElectionView } from './election-view.ts';
import { type DutyRecord, dutyLeaseName, dutyOf, newDutyLease } from './lease-records.ts';
import { ANSWER_MS, Membership } from './membership.ts';

/** The longest wait of a view that cannot be had: a handover must not wait for it. */
const LONGEST_WAIT_MS = 1_000;
/** An act that came to nothing visible is tried again after this. */
const AGAIN_MS = 1_000;
/** What was removed is told of no more by then. */
const REMEMBER_MS = 60_000;
/** A member that was not renewed for this long has missed one. */
const QUIET_MS = 1_800;
/** Renewals of our own that a view may have missed before it is taken for stuck. */
const MISSED_RENEWALS = 3;

/** How processes of one machine know each other. */
export interface ProcessMark {
  /** Names this process once and for all. */
  readonly own: string;
  /** Whether that process was one of this machine and is no more. */
  isGone(mark: string): Promise<boolean>;
}

interface ElectionOptions {
  /** Acts as `system:controller:election`. */
  readonly client: ApiClient;
  /** Those this process can lead, in the order it begins them. */
  readonly duties: readonly string[];
  /** Which process this is, for people. */
  readonly where: string;
  /** The same, for others of its machine: who sees that a member's process is gone need not wait until it falls silent. */
  readonly process?: ProcessMark | undefined;
  /** Nobody else can serve the store: the duties are taken once and kept, without a heartbeat. */
  readonly lone: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Told in the same step when what this process leads may have changed. */
  readonly onChange: () => void;
}

/**
 * Decides with the other processes of the fleet who leads each duty, over coordination Leases. One renewed Lease a process says that it is there,
 * one Lease a duty says who leads it and is written only when that changes (docs/decisions/0012).
 */
export class Election {
  readonly #options: ElectionOptions;
  readonly #leases: ResourceClient<CoordinationLease>;
  readonly #membership: Membership;
  readonly #cache = new Cache<CoordinationLease>();
  readonly #view = new ElectionView();
  /** Members this process removed, and when. */
  readonly #removed = new Map<string, number>();
  /** Members whose process is gone, and when the processes of others were last looked for. */
  readonly #dead = new Set<string>();
  readonly #lookedAtMs = new Map<string, number>();
  /** What was done on which version, and when: it shows in the view or is done again. */
  readonly #acted = new Map<string, { readonly version: string; readonly atMs: number }>();
  readonly #renewing = new AbortController();
  readonly #acting = new AbortController();
  #sinceMs: number | undefined;
  #left = false;
  #missed = 0;
  #lastVersion: string | undefined;
  #restartView = () => {};
  #wake = () => {};
  #work: Promise<void> = Promise.resolve();
  #members: Promise<void> = Promise.resolve();

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#leases = options.client.resource<CoordinationLease>(CoordinationLease, ELECTION_NAMESPACE);
    this.#membership = new Membership({
      ...options,
      process: options.process?.own,
      leases: this.#leases,
      onChange: () => this.#onMembership(),
    });
    this.#cache.subscribe((change) => {
      this.#view.observe(change, options.clock.monotonic());
      if (change.after === undefined) this.#membership.lost(change.before?.metadata.name ?? '');
      this.#changed();
    });
  }

  /** The name of this process among the members; undefined while it has no standing. */
  get member(): string | undefined {
    return this.#membership.standing;
  }

  /** The term in which this process leads a duty; undefined when it is not certain at this very moment that it does. */
  term(duty: string): Term | undefined {
    const me = this.#membership.standing;
    const lease = this.#view.leases.get(duty);
    if (this.#left || me === undefined || lease?.holder !== me) return undefined;
    return { namespace: ELECTION_NAMESPACE, name: dutyLeaseName(duty), resourceVersion: lease.version };
  }

  start(): void {
    this.#members = this.#membership.run(this.#renewing.signal);
    const { signal } = this.#acting;
    const work = [this.#watch(signal), this.#noteFirstView(signal), this.#act(signal)];
    this.#work = Promise.all(work).then(() => {});
  }

  /** Claims nothing any more. What is led stays so until `leave`. */
  async stop(): Promise<void> {
    this.#acting.abort();
    this.#wake();
    await this.#work;
  }

  /** Gives up what this process led, so that others take it at once. Call it when the duties have let go. Best effort, within two seconds. */
  async leave(): Promise<void> {
    await this.stop();
    this.#left = true;
    const me = this.#membership.standing;
    this.#renewing.abort();
    await this.#members;
    if (this.#options.lone) return;
    const signal = new AbortController().signal;
    const named = [...this.#view.leases.values()].filter(({ holder }) => holder !== '' && holder === me);
    try {
      await Promise.all(named.map((lease) => this.#give(lease, signal)));
      await this.#membership.leave(signal);
    } catch (error) {
      // Others find out by themselves, later.
      const why = error instanceof Error ? error.message : String(error);
      this.#options.log.info('left without telling the others, who find out within seconds', { why });
    }
  }

  /** One view, begun again when it is stuck. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      const stuck = new AbortController();
      this.#restartView = () => stuck.abort();
      const reflector = new Reflector<CoordinationLease>({
        resource: this.#leases,
        cache: this.#cache,
        select: { labelSelector: ELECTION_SELECTOR },
        clock,
        random,
        longestWaitMs: LONGEST_WAIT_MS,
      });
      await reflector.run(AbortSignal.any([signal, stuck.signal]));
    }
  }

  async #noteFirstView(signal: AbortSignal): Promise<void> {
    await this.#cache.whenSynced(signal).catch(() => {});
    if (!this.#cache.synced) return;
    this.#sinceMs ??= this.#options.clock.monotonic();
    this.#changed();
  }

  #onMembership(): void {
    const { standing, version } = this.#membership;
    if (standing !== undefined && version !== this.#lastVersion) this.#noteRenewal(standing);
    this.#lastVersion = version;
    this.#changed();
  }

  /** Our own renewals must come by in the view; when they do not, it hangs on a connection that is dead without saying so. */
  #noteRenewal(me: string): void {
    const seen = Number(this.#view.members.get(me)?.version ?? 0);
    if (this.#lastVersion === undefined || seen >= Number(this.#lastVersion)) {
      this.#missed = 0;
      return;
    }
    this.#missed++;
    if (this.#missed < MISSED_RENEWALS) return;
    this.#missed = 0;
    this.#restartView();
  }

  #changed(): void {
    this.#options.onChange();
    this.#wake();
  }

  async #act(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const acts = this.#next(signal);
      if (acts.length > 0) await Promise.all(acts.map((act) => this.#try(act, signal)));
      else await woken;
    }
  }

  /** What is to be done now. Wakes us again for what is to be done later. */
  #next(signal: AbortSignal): readonly Act[] {
    const { duties, clock } = this.#options;
    const me = this.#membership.standing;
    if (signal.aborted || me === undefined || this.#sinceMs === undefined) return [];
    const nowMs = clock.monotonic();
    for (const [name, atMs] of this.#removed) if (nowMs - atMs > REMEMBER_MS) this.#removed.delete(name);
    for (const [target, { atMs }] of this.#acted) if (nowMs - atMs >= AGAIN_MS) this.#acted.delete(target);
    const out = new Set([...this.#removed.keys(), ...this.#membership.former]);
    const lookAgainAtMs = this.#lookForProcesses(me, nowMs);
    const dead = this.#dead;
    const { acts, againAtMs } = decide({ me, duties, view: this.#view, sinceMs: this.#sinceMs, out, dead, nowMs });
    const fresh = acts.filter((act) => {
      const [target, version] = targetOf(act);
      const last = this.#acted.get(target);
      return last === undefined || last.version !== version;
    });
    const waitMs = Math.min(
      againAtMs === undefined ? Infinity : againAtMs - nowMs,
      lookAgainAtMs - nowMs,
      fresh.length < acts.length ? AGAIN_MS : Infinity,
    );
    if (waitMs !== Infinity) this.#after(waitMs, signal);
    return fresh;
  }

  /** Looks for the processes of members that are new, or have missed a renewal. Answers when to look for the next. */
  #lookForProcesses(me: string, nowMs: number): number {
    const { members } = this.#view;
    for (const known of [this.#dead, this.#lookedAtMs])
      for (const name of known.keys()) if (!members.has(name)) known.delete(name);
    let nextMs = Infinity;
    for (const { name, process, durationMs, seenAtMs } of members.values()) {
      if (name === me || process === undefined || durationMs === undefined || this.#dead.has(name)) continue;
      const lookedAtMs = this.#lookedAtMs.get(name);
      const quietAtMs = seenAtMs + QUIET_MS;
      if (lookedAtMs === undefined || (nowMs >= quietAtMs && lookedAtMs < quietAtMs)) {
        this.#lookedAtMs.set(name, nowMs);
        void this.#lookFor(name, process);
      } else if (nowMs < quietAtMs) nextMs = Math.min(nextMs, quietAtMs);
    }
    return nextMs;
  }

  async #lookFor(name: string, process: string): Promise<void> {
    const isGone = (await this.#options.process?.isGone(process).catch(() => false)) ?? false;
    if (!isGone) return;
    this.#dead.add(name);
    this.#wake();
  }

  #cancelAlarm = () => {};

  #after(ms: number, signal: AbortSignal): void {
    this.#cancelAlarm();
    const cancel = this.#options.clock.after(ms, () => this.#wake());
    signal.addEventListener('abort', cancel, { once: true });
    this.#cancelAlarm = () => {
      cancel();
      signal.removeEventListener('abort', cancel);
    };
  }

  async #try(act: Act, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const [target, version] = targetOf(act);
    this.#acted.set(target, { version, atMs: clock.monotonic() });
    try {
      await withDeadline(clock, ANSWER_MS, signal, (ends) => this.#do(act, ends));
    } catch (error) {
      if (signal.aborted) return;
      // Somebody was quicker, or we looked at what is past: the view will show it.
      if (hasReason(error, 'Conflict', 'AlreadyExists', 'NotFound')) return;
      log.debug('election act failed', { act: act.do, target, error: String(error) });
    }
  }

  async #do(act: Act, signal: AbortSignal): Promise<void> {
    switch (act.do) {
      case 'remove': {
        const { name, uid, version } = act.member;
        await this.#leases.delete(name, { preconditions: { uid, resourceVersion: version } }, signal);
        this.#removed.set(name, this.#options.clock.monotonic());
        this.#options.log.info('member removed: it is not heard any more', { member: name });
        this.#wake();
        return;
      }
      case 'free':
        return this.#name(act.lease, '', signal);
      case 'claim':
        return this.#claim(act.duty, act.lease, signal);
      default:
        throw new Error(`there is no act ${act satisfies never}`);
    }
  }

  async #claim(duty: string, lease: DutyRecord | undefined, signal: AbortSignal): Promise<void> {
    const me = this.#membership.standing;
    if (me === undefined) return;
    if (lease !== undefined) return this.#name(lease, me, signal);
    await this.#leases.create(newDutyLease(duty, me, microTime(this.#options.clock.now())), {}, signal);
  }

  /** Names the holder of a duty, at the version of its Lease that was seen. */
  async #name({ duty, version, transitions }: DutyRecord, holder: string, signal: AbortSignal): Promise<void> {
    const now = microTime(this.#options.clock.now());
    const taken = { acquireTime: now, renewTime: now, leaseTransitions: transitions + 1 };
    const spec = { holderIdentity: holder, ...(holder === '' ? {} : taken) };
    await this.#leases.patch(dutyLeaseName(duty), { metadata: { resourceVersion: version }, spec }, {}, signal);
  }

  /** As `#name` nobody, but also when the view was behind. */
  async #give(lease: DutyRecord, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await withDeadline(clock, ANSWER_MS, signal, async (ends) => {
      try {
        await this.#name(lease, '', ends);
      } catch (error) {
        if (!hasReason(error, 'Conflict')) throw error;
        const now = dutyOf(await this.#leases.get(dutyLeaseName(lease.duty), ends));
        if (now?.holder === lease.holder) await this.#name(now, '', ends);
      }
    });
  }
}

/** What an act changes, and the version it is done on. */
function targetOf(act: Act): readonly [string, string] {
  if (act.do === 'remove') return [act.member.name, act.member.version];
  if (act.do === 'free') return [dutyLeaseName(act.lease.duty), act.lease.version];
  return [dutyLeaseName(act.duty), act.lease?.version ?? ''];
}

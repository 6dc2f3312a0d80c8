import type { Clock } from '../../../../resources/ambient/clock.ts';
import type { Logger } from '../../../../resources/ambient/log.ts';
import { chanceOf } from './chance.ts';
import { type Fault, type FaultOf, means, type Operation, type Step } from './fault.ts';
import { spanMs, stepMs } from './fault-duration.ts';
import { type GuestEnd, GuestEnds, type GuestOn } from './guest-ends.ts';
import { MetFault } from './met-fault.ts';
import { TimedFault, type Turn } from './timed-fault.ts';

interface HostFaultsOptions {
  readonly host: string;
  readonly faults: readonly Fault[];
  /** With the same one the same comes of the same faults. */
  readonly seed: number;
  /** Not the host's own: that is one of the things that go wrong. */
  readonly clock: Clock;
  /** Every fault that strikes is told here once. */
  readonly log: Logger;
}

interface Leak {
  readonly guest: string;
  readonly untilMs: number;
}

/** The longest a timer is set for; then it is set anew. */
const LONGEST_WAIT_MS = 3_600_000;

/**
 * What is wrong with one host now. Those who run the host ask here: the driver, the way to the API server, the clock. Pure but for its counting: what it
 * answers follows from faults, seed, clock, and what it was asked before.
 */
export class HostFaults implements Disposable {
  readonly #options: HostFaultsOptions;
  readonly #beganMs: number;
  readonly #listeners = new Set<() => void>();
  readonly #crashListeners = new Set<(downMs: number) => void>();
  #count = 0;
  #timed: TimedFault[] = [];
  #slow: MetFault<FaultOf<'SlowOperation'>>[] = [];
  #failing: MetFault<FaultOf<'FailedOperation'>>[] = [];
  #leaking: MetFault<FaultOf<'LeakedSlot'>>[] = [];
  #crashing: MetFault<FaultOf<'NodeletCrash'>>[] = [];
  #ends: GuestEnds[] = [];
  #leaks: Leak[] = [];
  #clockMs = 0;
  /** When something begins or ends next by the clock. */
  #nextMs = 0;
  #stopTimer = () => {};

  constructor(options: HostFaultsOptions) {
    this.#options = options;
    this.#beganMs = options.clock.monotonic();
    this.add(options.faults);
  }

  /** Takes on more faults, those of them that mean this host; they count from now. */
  add(faults: readonly Fault[]): void {
    const { host, seed } = this.#options;
    for (const fault of faults) {
      const chance = chanceOf(seed, this.#count++, host);
      if (means(fault.hosts, host)) this.#addOne(fault, chance);
    }
    this.#nextMs = 0;
    this.#advance();
    this.#tell();
  }

  /** Ends all faults. A clock that jumped stays where it is. */
  heal(): void {
    this.#timed = [];
    this.#slow = [];
    this.#failing = [];
    this.#leaking = [];
    this.#crashing = [];
    this.#ends = [];
    this.#leaks = [];
    this.#schedule();
    this.#tell();
  }

  /** How long the operation takes now, in milliseconds; undefined: as long as ever. */
  takesMs(operation: Operation, vm?: string): number | undefined {
    const slow = this.#meet(this.#slow, operation, vm);
    return slow && spanMs(slow.fault.takes, () => slow.draw());
  }

  /** Whether the operation is to fail. */
  fails(operation: Operation, vm?: string): boolean {
    return this.#meet(this.#failing, operation, vm) !== undefined;
  }

  /** Which of the guests are to end now. */
  takeEnds(guests: readonly GuestOn[]): readonly GuestEnd[] {
    return this.#ends.flatMap((ends) => {
      const taken = ends.take(guests, this.#nowMs());
      for (const { fault, guest } of taken) this.#log(fault, { vm: guest.label });
      return taken;
    });
  }

  /** How long until one of the guests may be to end, in milliseconds; Infinity: none will be. */
  waitForEndMs(guests: readonly GuestOn[]): number {
    return Math.min(Number.POSITIVE_INFINITY, ...this.#ends.map((ends) => ends.waitMs(guests, this.#nowMs())));
  }

  /** A macOS guest went off, or is gone: its slot may stay taken. */
  slotFreed(guest: string, vm: string): void {
    const struck = this.#leaking.find((leak) => means(leak.fault.vms, vm) && leak.strikes(this.#nowMs()));
    if (struck === undefined) return;
    const lastsMs = struck.fault.for === undefined ? undefined : spanMs(struck.fault.for, () => struck.draw());
    this.#leaks.push({ guest, untilMs: lastsMs === undefined ? Number.POSITIVE_INFINITY : this.#nowMs() + lastsMs });
    this.#log(struck.fault, { vm, lastsMs });
    this.#schedule();
    this.#tell();
  }

  /** Guests that are off and whose macOS slot is taken all the same. */
  get leaks(): readonly string[] {
    this.#advance();
    return this.#leaks.map(({ guest }) => guest);
  }

  /** How far the host's clock is ahead, in milliseconds. */
  get clockMs(): number {
    this.#advance();
    return this.#clockMs;
  }

  /** Nothing passes between the host and the API server. */
  get cutOff(): boolean {
    return this.#holds('Partition');
  }

  /** The host's control socket is lost, and no other to be had. */
  get heartbeatLost(): boolean {
    return this.#holds('LostHeartbeat');
  }

  get diskFull(): boolean {
    return this.#holds('DiskFull');
  }

  /** Whether the nodelet dies at this step; then for how long, in milliseconds. */
  crashesAt(step: Step, vm?: string): number | undefined {
    const crash = this.#crashing.find((other) => isAt(other.fault, step, vm) && other.strikes(this.#nowMs()));
    if (crash === undefined) return undefined;
    const downMs = spanMs(crash.fault.for ?? '0s', () => crash.draw());
    this.#log(crash.fault, { step, vm, lastsMs: downMs });
    return downMs;
  }

  /** Hears when something begins or ends by the clock, a slot is leaked or given back, and faults are added; the returned function stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Hears of crashes that come by the clock, with how long the nodelet is to be gone; the returned function stops it. */
  onCrash(listener: (downMs: number) => void): () => void {
    this.#crashListeners.add(listener);
    return () => this.#crashListeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.#stopTimer();
    this.#stopTimer = () => {};
    this.#timed = [];
  }

  #addOne(fault: Fault, chance: () => number): void {
    const from = this.#nowMs();
    switch (fault.fault) {
      case 'SlowOperation':
        this.#slow.push(new MetFault(fault, chance, from));
        return;
      case 'FailedOperation':
        this.#failing.push(new MetFault(fault, chance, from));
        return;
      case 'LeakedSlot':
        this.#leaking.push(new MetFault(fault, chance, from));
        return;
      case 'LostGuest':
      case 'CrashedGuest':
        this.#ends.push(new GuestEnds(fault, chance, from));
        return;
      case 'NodeletCrash':
        if (fault.step === undefined) this.#timed.push(new TimedFault(fault, chance, from));
        else this.#crashing.push(new MetFault(fault, chance, from));
        return;
      default:
        this.#timed.push(new TimedFault(fault, chance, from));
    }
  }

  #meet<F extends FaultOf<'SlowOperation' | 'FailedOperation'>>(
    faults: readonly MetFault<F>[],
    operation: Operation,
    vm: string | undefined,
  ): MetFault<F> | undefined {
    const struck = faults
      .filter(({ fault }) => (fault.operation ?? 'Start') === operation && isOf(fault.vms, vm))
      .find((fault) => fault.strikes(this.#nowMs()));
    if (struck !== undefined) this.#log(struck.fault, { operation, vm });
    return struck;
  }

  #holds(name: 'Partition' | 'LostHeartbeat' | 'DiskFull'): boolean {
    this.#advance();
    return this.#timed.some(({ fault, holds }) => holds && fault.fault === name);
  }

  /** Brings what goes by the clock up to date, and sees to it that this happens again in time. */
  #advance(): void {
    const nowMs = this.#nowMs();
    if (nowMs < this.#nextMs) return;
    const turns = this.#timed.flatMap((fault) => fault.advance(nowMs));
    const leaks = this.#leaks.filter(({ untilMs }) => untilMs > nowMs);
    const given = this.#leaks.length - leaks.length;
    this.#leaks = leaks;
    this.#schedule();
    for (const turn of turns) this.#take(turn);
    if (turns.length + given > 0) this.#tell();
  }

  #take({ fault, begins, lastsMs }: Turn): void {
    if (fault.fault === 'ClockStep') this.#clockMs += begins ? stepMs(fault.by) : -stepMs(fault.by);
    if (begins) this.#log(fault, { lastsMs, ...(fault.fault === 'ClockStep' ? { by: fault.by } : {}) });
    else this.#options.log.info('fault over', { fault: fault.fault });
    if (fault.fault !== 'NodeletCrash' || !begins) return;
    for (const listener of [...this.#crashListeners]) listener(lastsMs ?? 0);
  }

  #schedule(): void {
    this.#stopTimer();
    this.#stopTimer = () => {};
    this.#nextMs = Math.min(...this.#timed.map((fault) => fault.nextMs), ...this.#leaks.map(({ untilMs }) => untilMs));
    if (this.#nextMs === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.min(LONGEST_WAIT_MS, Math.max(0, this.#nextMs - this.#nowMs()));
    this.#stopTimer = this.#options.clock.after(waitMs, () => {
      this.#advance();
      // It may have been set for less than the whole way, or come a little early.
      if (this.#nowMs() < this.#nextMs) this.#schedule();
    });
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #log(fault: Fault, more: Readonly<Record<string, string | number | undefined>>): void {
    this.#options.log.info('fault', { fault: fault.fault, ...more });
  }

  #nowMs(): number {
    return this.#options.clock.monotonic() - this.#beganMs;
  }
}

/** Whether a fault of some VMs means this one. What is no VM's is meant only where all are. */
function isOf(vms: readonly string[] | undefined, vm: string | undefined): boolean {
  return vm === undefined ? vms === undefined : means(vms, vm);
}

function isAt({ step, vms }: FaultOf<'NodeletCrash'>, at: Step, vm: string | undefined): boolean {
  return (step === 'Any' || step === at) && isOf(vms, vm);
}

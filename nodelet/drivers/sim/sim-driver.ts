import { createHash } from 'node:crypto';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { ChangeFeed } from '../change-feed.ts';
import {
  type Driver,
  type DriverCapabilities,
  DriverError,
  type ExecRequest,
  type GuestPower,
  type GuestProcess,
  type GuestSpec,
  type HostCapacity,
  type ImageFacts,
  type LogOptions,
  type ObservedGuest,
  type ObservedVolume,
} from '../driver.ts';
import { DueEnds } from './faults/due-ends.ts';
import type { Fault, Operation, Step } from './faults/fault.ts';
import type { GuestEnd, GuestOn } from './faults/guest-ends.ts';
import { HostFaults } from './faults/host-faults.ts';
import { steppedClock } from './faults/stepped-clock.ts';
import type { SimGuest, SimHost } from './sim-guests-file.ts';
import { simLog } from './sim-log.ts';
import { simProcess } from './sim-process.ts';
import { guestWith, needDisk, needRoom, needVolumes } from './sim-room.ts';

export interface SimDriverOptions {
  /** Where this host's guests are kept; they outlive the driver. */
  readonly host: SimHost;
  readonly capacity: HostCapacity;
  readonly clock: Clock;
  /** What goes wrong; the caller's to dispose of. */
  readonly faults?: HostFaults;
  /** Called at each step of an operation on a VM, `namespace/name`; throws when the process is to get no further. */
  readonly reach?: (step: Step, vm: string) => void;
  /** How long a start takes, in milliseconds; 300 and 1000 when absent. */
  readonly startMs?: { readonly linux: number; readonly macos: number };
}

const MAX_LOG_LINES = 20;
const FULL = {
  reason: 'DiskFull',
  message: 'the disk of the simulated host is full: what the guest writes is lost',
} as const;

/**
 * A host whose guests are only pretended. It can be told to misbehave; a guest costs nothing while nothing is asked of it. What it shows, and says is
 * done, is in the file first: whoever was told of a guest finds it again after a crash.
 */
export class SimDriver implements Driver {
  readonly name = 'sim';
  readonly capabilities: DriverCapabilities = {
    version: 'simulated',
    accelerator: 'simulated',
    guestOS: ['macos', 'linux'],
    nested: true,
    pause: true,
    exec: true,
    volumes: true,
  };
  /** The host's clock, faults included. */
  readonly clock: Clock;
  /** Time as it passes, whatever the host's clock says. */
  readonly #time: Clock;
  readonly #host: SimHost;
  readonly #capacity: HostCapacity;
  readonly #startMs: { readonly linux: number; readonly macos: number };
  readonly #faults: HostFaults;
  readonly #reach: (step: Step, vm: string) => void;
  readonly #feed = new ChangeFeed();
  /** Guests being stopped right now. */
  readonly #stopping = new Set<string>();
  /** Ends the commands that run in a guest when it goes off. */
  readonly #sessions = new Map<string, AbortController>();
  readonly #dueEnds: DueEnds;
  readonly #stopHearing: () => void;
  /** Guests whose slots were leaked when this was last told of. */
  #leaks: readonly string[] = [];

  constructor(options: SimDriverOptions) {
    this.#host = options.host;
    this.#capacity = options.capacity;
    this.#startMs = options.startMs ?? { linux: 300, macos: 1000 };
    this.#time = options.clock;
    const { clock } = options;
    this.#faults = options.faults ?? new HostFaults({ host: '', faults: [], seed: 0, clock, log: silentLogger });
    this.#reach = options.reach ?? (() => {});
    this.clock = steppedClock(clock, () => this.#faults.clockMs);
    const guests = () => this.#guestsOn();
    this.#dueEnds = new DueEnds({ faults: this.#faults, clock, guests, end: (due) => this.#end(due) });
    this.#stopHearing = this.#faults.onChange(() => this.#hint());
  }

  /** Makes the host misbehave from now on. */
  async inject(faults: readonly Fault[]): Promise<void> {
    this.#faults.add(faults);
    await this.#dueEnds.meet();
  }

  /** Ends all that goes wrong. */
  heal(): void {
    this.#faults.heal();
  }

  async capacity(): Promise<HostCapacity> {
    return this.#capacity;
  }

  async list(signal: AbortSignal): Promise<readonly ObservedGuest[]> {
    await this.#meet('List', undefined, signal);
    return [...this.#host.saved.values()].map((guest) => this.#observe(guest));
  }

  async leakedSlots(): Promise<number> {
    await this.#host.settled();
    return this.#faults.leaks.length;
  }

  changes(signal: AbortSignal): AsyncIterable<string> {
    return this.#feed.read(signal);
  }

  create(spec: GuestSpec, signal: AbortSignal): Promise<void> {
    return this.#operate('Create', spec.label, signal, () => this.#create(spec));
  }

  async start(id: string, signal: AbortSignal): Promise<void> {
    const guest = this.#find(id);
    if (guest.power !== 'Off') {
      await this.#host.settled();
      await this.#sleepUntilBooted(guest, signal);
      return;
    }
    const { label } = guest.spec;
    this.#reach('BeforeStart', label);
    await this.#boot(guest);
    this.#reach('DuringStart', label);
    await this.#sleepUntilBooted(guest, signal);
    this.#feed.emit(id);
    this.#dueEnds.reschedule();
    this.#reach('AfterStart', label);
  }

  async stop(id: string, _options: { readonly graceMs: number }, signal: AbortSignal): Promise<void> {
    const guest = this.#find(id);
    if (guest.power === 'Off') {
      await this.#acknowledge(guest);
      await this.#host.settled();
      return;
    }
    this.#stopping.add(id);
    try {
      this.#feed.emit(id);
      await this.#operate('Stop', guest.spec.label, signal, () => this.#turnOff(guest, 'Requested', 'powered down'));
    } finally {
      this.#stopping.delete(id);
    }
  }

  pause(id: string, signal: AbortSignal): Promise<void> {
    return this.#operate('Pause', this.#labelOf(id), signal, () => this.#setPower(id, 'Paused'));
  }

  resume(id: string, signal: AbortSignal): Promise<void> {
    return this.#operate('Resume', this.#labelOf(id), signal, () => this.#setPower(id, 'Running'));
  }

  remove(id: string, signal: AbortSignal): Promise<void> {
    return this.#operate('Remove', this.#labelOf(id), signal, () => this.#vanish(id));
  }

  async clear(signal: AbortSignal): Promise<number> {
    await this.#meet('Remove', undefined, signal);
    const left = this.#host.guests.size;
    if (left > 0) throw new DriverError('Failed', `there are ${left} guests on this host`);
    // All there ever was of a simulated guest is its entry in the file.
    await this.#host.settled();
    return 0;
  }

  async volumes(signal: AbortSignal): Promise<readonly ObservedVolume[]> {
    signal.throwIfAborted();
    await this.#host.settled();
    return [...this.#host.savedVolumes].map(([id, sizeBytes]) => ({ id, sizeBytes }));
  }

  async keepVolume({ id, sizeBytes }: ObservedVolume, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const has = this.#host.volumes.get(id) ?? 0;
    if (has >= sizeBytes) return await this.#host.settled();
    const user = guestWith(id, this.#host.guests.values());
    if (user !== undefined) throw new DriverError('InUse', `guest ${user.spec.label} has volume ${id}`);
    this.#refuseFullDisk();
    needDisk(sizeBytes - has, this.#host, this.#capacity);
    this.#host.volumes.set(id, sizeBytes);
    await this.#host.save();
  }

  async removeVolume(id: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const user = guestWith(id, this.#host.guests.values());
    if (user !== undefined) throw new DriverError('InUse', `guest ${user.spec.label} has volume ${id}`);
    if (!this.#host.volumes.delete(id)) return await this.#host.settled();
    await this.#host.save();
  }

  async exec(id: string, request: ExecRequest, signal: AbortSignal): Promise<GuestProcess> {
    await this.#meet('Exec', this.#labelOf(id), signal);
    const guest = this.#on(id);
    if (guest.power === 'Paused') throw new DriverError('NotRunning', `guest ${guest.spec.label} is paused`);
    if (this.#power(guest) === 'Starting')
      throw new DriverError('AgentUnavailable', `guest ${guest.spec.label} is still starting`);
    const session = this.#sessions.get(id) ?? new AbortController();
    this.#sessions.set(id, session);
    if (request.command[0] === 'poweroff') await this.#turnOff(guest, 'GuestShutdown', 'the guest powered itself off');
    return simProcess(guest, request, { killed: signal, gone: session.signal });
  }

  logs(id: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return simLog(() => this.#host.guests.get(id), id, this.#feed, options, signal);
  }

  async image(path: string): Promise<ImageFacts | undefined> {
    return { digest: digestOf(path), sizeBytes: 1024 ** 3 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopHearing();
    this.#dueEnds[Symbol.dispose]();
    this.#feed.close();
    this.#endSessions();
    await this.#host.save();
  }

  async #create(spec: GuestSpec): Promise<void> {
    const present = this.#host.guests.get(spec.id);
    if (present !== undefined) {
      if (spec.epoch > present.spec.epoch) {
        present.spec = { ...present.spec, epoch: spec.epoch };
        await this.#changed(spec.id);
      }
      await this.#host.settled();
      return;
    }
    const digest = digestOf(spec.image.path);
    if (spec.image.digest !== digest) {
      throw new DriverError(
        'ImageMissing',
        `the image ${spec.image.path} has digest ${digest} here, not ${spec.image.digest}`,
      );
    }
    this.#refuseFullDisk();
    needDisk(spec.diskBytes, this.#host, this.#capacity);
    if (spec.guestOS === 'macos' && (spec.volumes ?? []).length > 0)
      throw new DriverError('Unsupported', 'macOS guests have no volumes');
    needVolumes(spec, this.#host);
    const { volumes, ...rest } = spec;
    const kept = volumes === undefined ? rest : { ...rest, volumes: [...volumes] };
    const guest: SimGuest = { spec: kept, power: 'Off', log: [], logged: 0 };
    this.#say(guest, `this is simulated guest ${spec.label}: no hypervisor runs it`);
    this.#host.guests.set(spec.id, guest);
    await this.#changed(spec.id);
  }

  async #boot(guest: SimGuest): Promise<void> {
    const { id, label } = guest.spec;
    if (this.#faults.fails('Start', label)) {
      guest.stopReason = 'StartFailed';
      guest.message = 'the simulated hypervisor was told to fail this start';
      await this.#changed(id);
      throw new DriverError('Failed', guest.message);
    }
    this.#refuseFullDisk();
    needRoom(guest, this.#host.guests.values(), this.#capacity, this.#faults.leaks.length);
    guest.power = 'Running';
    guest.startedAt = this.clock.now();
    const bootMs = this.#faults.takesMs('Start', label) ?? this.#startMs[guest.spec.guestOS];
    guest.bootedAt = this.#time.now() + bootMs;
    delete guest.stopReason;
    delete guest.message;
    this.#say(guest, `booting ${guest.spec.image.path} as ${guest.spec.hostname} (simulated)`);
    this.#say(guest, `${guest.spec.vcpus} vCPU, ${Math.round(guest.spec.memoryBytes / 1024 ** 2)} MiB memory`);
    await this.#changed(id);
  }

  async #setPower(id: string, power: 'Running' | 'Paused'): Promise<void> {
    const guest = this.#on(id);
    if (guest.power === power) return await this.#host.settled();
    guest.power = power;
    await this.#changed(id);
  }

  /** What has to be written needs room: the disk of a guest, and the state of one that comes up. */
  #refuseFullDisk(): void {
    if (this.#faults.diskFull)
      throw new DriverError('NoSpace', 'the disk of the simulated host is full: 0 bytes are free');
  }

  #find(id: string): SimGuest {
    const guest = this.#host.guests.get(id);
    if (guest === undefined) throw new DriverError('NoSuchGuest', `there is no guest ${id} on this host`);
    return guest;
  }

  #on(id: string): SimGuest {
    const guest = this.#find(id);
    if (guest.power === 'Off') throw new DriverError('NotRunning', `guest ${guest.spec.label} is off`);
    return guest;
  }

  #power(guest: SimGuest): GuestPower {
    if (this.#stopping.has(guest.spec.id)) return 'Stopping';
    return guest.power === 'Running' && (guest.bootedAt ?? 0) > this.#time.now() ? 'Starting' : guest.power;
  }

  #observe(guest: SimGuest): ObservedGuest {
    const { spec } = guest;
    const power = this.#power(guest);
    return {
      id: spec.id,
      label: spec.label,
      power,
      agentReady: power === 'Running' || power === 'Paused',
      guestOS: spec.guestOS,
      vcpus: spec.vcpus,
      memoryBytes: spec.memoryBytes,
      epoch: spec.epoch,
      imageDigest: spec.image.digest,
      addresses: [],
      ...(guest.power === 'Off' ? {} : { startedFrom: 'cold' as const }),
      ...(guest.startedAt === undefined ? {} : { startedAt: guest.startedAt }),
      ...(guest.stopReason === undefined ? {} : { stopReason: guest.stopReason }),
      ...(guest.message === undefined ? {} : { message: guest.message }),
      ...(power !== 'Off' && this.#faults.diskFull ? { problem: FULL } : {}),
    };
  }

  async #sleepUntilBooted(guest: SimGuest, signal: AbortSignal): Promise<void> {
    // More than once: a timer may be up a little before the wall clock says so.
    while (this.#power(guest) === 'Starting')
      await this.#time.sleep(Math.max(1, (guest.bootedAt ?? 0) - this.#time.now()), signal);
  }

  /** One operation, and all that may go wrong before it and after. */
  async #operate(
    operation: 'Create' | 'Stop' | 'Pause' | 'Resume' | 'Remove',
    vm: string,
    signal: AbortSignal,
    work: () => Promise<void>,
  ): Promise<void> {
    this.#reach(`Before${operation}`, vm);
    await this.#meet(operation, vm, signal);
    await work();
    this.#reach(`After${operation}`, vm);
  }

  async #meet(operation: Operation, vm: string | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const takesMs = this.#faults.takesMs(operation, vm);
    if (takesMs !== undefined) await this.#time.sleep(takesMs, signal);
    if (this.#faults.fails(operation, vm))
      throw new DriverError('Failed', `the simulated hypervisor was told to fail this ${operation.toLowerCase()}`);
    await this.#dueEnds.meet();
  }

  async #end({ fault, guest }: GuestEnd): Promise<void> {
    const found = this.#host.guests.get(guest.id);
    if (fault.fault === 'LostGuest') await this.#vanish(guest.id);
    else if (found !== undefined && found.power !== 'Off')
      await this.#turnOff(found, 'Crashed', 'the simulated hypervisor process died');
  }

  #guestsOn(): readonly GuestOn[] {
    const now = this.#time.now();
    return [...this.#host.guests.values()]
      .filter((guest) => guest.power !== 'Off')
      .map(({ spec: { id, label }, bootedAt = now }) => ({ id, label, ageMs: now - bootedAt }));
  }

  /** Something about the host has changed, maybe about every guest. */
  #hint(): void {
    const { leaks } = this.#faults;
    for (const id of new Set([...this.#host.guests.keys(), ...leaks, ...this.#leaks])) this.#feed.emit(id);
    this.#leaks = leaks;
    this.#dueEnds.reschedule();
  }

  async #turnOff(guest: SimGuest, reason: 'Requested' | 'GuestShutdown' | 'Crashed', words: string): Promise<void> {
    if (guest.power !== 'Off') this.#slotFreed(guest);
    guest.power = 'Off';
    guest.stopReason = reason;
    if (reason === 'Crashed') guest.message = words;
    this.#say(guest, words);
    this.#endSessions(guest.spec.id);
    await this.#changed(guest.spec.id);
  }

  /** A guest that went off by itself counts as off on request from now on. */
  async #acknowledge(guest: SimGuest): Promise<void> {
    if (guest.stopReason === undefined || guest.stopReason === 'Requested') return;
    guest.stopReason = 'Requested';
    delete guest.message;
    await this.#changed(guest.spec.id);
  }

  async #vanish(id: string): Promise<void> {
    const guest = this.#host.guests.get(id);
    if (guest === undefined) return await this.#host.settled();
    if (guest.power !== 'Off') this.#slotFreed(guest);
    this.#host.guests.delete(id);
    this.#endSessions(id);
    await this.#changed(id);
  }

  #slotFreed({ spec: { id, label, guestOS } }: SimGuest): void {
    if (guestOS === 'macos') this.#faults.slotFreed(id, label);
  }

  #labelOf(id: string): string {
    return this.#host.guests.get(id)?.spec.label ?? id;
  }

  #endSessions(id?: string): void {
    for (const [guest, session] of [...this.#sessions]) {
      if (id !== undefined && guest !== id) continue;
      this.#sessions.delete(guest);
      session.abort(new DriverError('StreamBroken', `guest ${guest} went away`));
    }
  }

  async #changed(id: string): Promise<void> {
    await this.#host.save();
    // Not before: who looks at once would see what was so, and not be told again.
    this.#feed.emit(id);
    this.#dueEnds.reschedule();
  }

  #say(guest: SimGuest, line: string): void {
    guest.log.push(line);
    guest.logged += 1;
    if (guest.log.length > MAX_LOG_LINES) guest.log.shift();
  }
}

/** Every path is an image here; its digest is that of its name. */
function digestOf(path: string): string {
  return `sha256:${createHash('sha256').update(path).digest('hex')}`;
}

import { createHash } from 'node:crypto';
import type { Clock } from '../../../resources/ambient/clock.ts';
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
} from '../driver.ts';
import { FaultState } from './fault-state.ts';
import type { SimFault, SimOperation } from './faults.ts';
import type { SimGuest, SimHost } from './sim-guests-file.ts';
import { simLog } from './sim-log.ts';
import { simProcess } from './sim-process.ts';
import { steppedClock } from './stepped-clock.ts';

export interface SimDriverOptions {
  /** Where this host's guests are kept; they outlive the driver. */
  readonly host: SimHost;
  readonly capacity: HostCapacity;
  readonly clock: Clock;
  readonly faults?: readonly SimFault[];
  /** How long a start takes, in milliseconds; 300 and 1000 when absent. */
  readonly startMs?: { readonly linux: number; readonly macos: number };
}

/** macOS guests that may run on one machine at once. */
const MACOS_SLOTS = 2;
const MAX_LOG_LINES = 20;

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
    pause: true,
    exec: true,
  };
  /** The host's clock, faults included. */
  readonly clock: Clock;
  readonly #host: SimHost;
  readonly #capacity: HostCapacity;
  readonly #startMs: { readonly linux: number; readonly macos: number };
  readonly #faults: FaultState;
  readonly #feed = new ChangeFeed();
  /** Guests being stopped right now. */
  readonly #stopping = new Set<string>();
  /** Ends the commands that run in a guest when it goes off. */
  readonly #sessions = new Map<string, AbortController>();

  constructor(options: SimDriverOptions) {
    this.#host = options.host;
    this.#capacity = options.capacity;
    this.#startMs = options.startMs ?? { linux: 300, macos: 1000 };
    this.#faults = new FaultState(options.faults ?? []);
    this.clock = steppedClock(options.clock, () => this.#faults.clockMs);
  }

  /** Makes the host misbehave from now on. */
  async inject(faults: readonly SimFault[]): Promise<void> {
    this.#faults.add(faults);
    await this.#settle();
  }

  async capacity(): Promise<HostCapacity> {
    return this.#capacity;
  }

  async list(signal: AbortSignal): Promise<readonly ObservedGuest[]> {
    await this.#meetFaults('list', signal);
    return [...this.#host.saved.values()].map((guest) => this.#observe(guest));
  }

  changes(signal: AbortSignal): AsyncIterable<string> {
    return this.#feed.read(signal);
  }

  async create(spec: GuestSpec, signal: AbortSignal): Promise<void> {
    await this.#meetFaults('create', signal);
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
    const taken = sum([...this.#host.guests.values()].map((guest) => guest.spec.diskBytes));
    if (taken + spec.diskBytes > this.#capacity.diskBytes) {
      throw new DriverError(
        'NoSpace',
        `needs ${spec.diskBytes} bytes of disk; ${this.#capacity.diskBytes - taken} are free`,
      );
    }
    const guest: SimGuest = { spec: { ...spec }, power: 'Off', log: [], logged: 0 };
    this.#say(guest, `this is simulated guest ${spec.label}: no hypervisor runs it`);
    this.#host.guests.set(spec.id, guest);
    await this.#changed(spec.id);
  }

  async start(id: string, signal: AbortSignal): Promise<void> {
    const guest = this.#find(id);
    if (guest.power !== 'Off') {
      await this.#host.settled();
      await this.#sleepUntilBooted(guest, signal);
      return;
    }
    if (this.#faults.takeFailure('start')) {
      guest.stopReason = 'StartFailed';
      guest.message = 'the simulated hypervisor was told to fail this start';
      await this.#changed(id);
      throw new DriverError('Failed', guest.message);
    }
    this.#refuseTooMuch(guest);
    const now = this.clock.now();
    guest.power = 'Running';
    guest.startedAt = now;
    guest.bootedAt = now + (this.#faults.delayMs('start') ?? this.#startMs[guest.spec.guestOS]);
    delete guest.stopReason;
    delete guest.message;
    this.#say(guest, `booting ${guest.spec.image.path} as ${guest.spec.hostname} (simulated)`);
    this.#say(guest, `${guest.spec.vcpus} vCPU, ${Math.round(guest.spec.memoryBytes / 1024 ** 2)} MiB memory`);
    await this.#changed(id);
    await this.#sleepUntilBooted(guest, signal);
    this.#feed.emit(id);
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
      await this.#meetFaults('stop', signal);
      await this.#turnOff(guest, 'Requested', 'powered down');
    } finally {
      this.#stopping.delete(id);
    }
  }

  async pause(id: string, signal: AbortSignal): Promise<void> {
    await this.#meetFaults('pause', signal);
    const guest = this.#on(id);
    if (guest.power === 'Paused') return await this.#host.settled();
    guest.power = 'Paused';
    await this.#changed(id);
  }

  async resume(id: string, signal: AbortSignal): Promise<void> {
    await this.#meetFaults('resume', signal);
    const guest = this.#on(id);
    if (guest.power === 'Running') return await this.#host.settled();
    guest.power = 'Running';
    await this.#changed(id);
  }

  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#meetFaults('remove', signal);
    await this.#vanish(id);
  }

  async clear(signal: AbortSignal): Promise<number> {
    await this.#meetFaults('remove', signal);
    const left = this.#host.guests.size;
    if (left > 0) throw new DriverError('Failed', `there are ${left} guests on this host`);
    // All there ever was of a simulated guest is its entry in the file.
    await this.#host.settled();
    return 0;
  }

  async exec(id: string, request: ExecRequest, signal: AbortSignal): Promise<GuestProcess> {
    await this.#meetFaults('exec', signal);
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
    this.#feed.close();
    this.#endSessions();
    await this.#host.save();
  }

  #refuseTooMuch(guest: SimGuest): void {
    const running = [...this.#host.guests.values()].filter((other) => other.power !== 'Off');
    if (guest.spec.guestOS === 'macos') {
      const macs = running.filter((other) => other.spec.guestOS === 'macos').length;
      const leaked = this.#faults.leakedSlots;
      if (macs + leaked >= MACOS_SLOTS) {
        throw new DriverError('InUse', `all ${MACOS_SLOTS} macOS slots are taken: ${macs} by guests, ${leaked} leaked`);
      }
    }
    const taken = sum(running.map((other) => other.spec.memoryBytes));
    if (taken + guest.spec.memoryBytes > this.#capacity.memoryBytes) {
      const free = this.#capacity.memoryBytes - taken;
      throw new DriverError(
        'Failed',
        `needs ${guest.spec.memoryBytes} bytes of memory; ${free} of ${this.#capacity.memoryBytes} are free`,
      );
    }
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
    return guest.power === 'Running' && (guest.bootedAt ?? 0) > this.clock.now() ? 'Starting' : guest.power;
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
    };
  }

  async #sleepUntilBooted(guest: SimGuest, signal: AbortSignal): Promise<void> {
    // More than once: a timer may be up a little before the wall clock says so.
    while (this.#power(guest) === 'Starting')
      await this.clock.sleep(Math.max(1, (guest.bootedAt ?? 0) - this.clock.now()), signal);
  }

  async #meetFaults(operation: SimOperation, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const delay = this.#faults.delayMs(operation);
    if (delay !== undefined) await this.clock.sleep(delay, signal);
    if (this.#faults.takeFailure(operation))
      throw new DriverError('Failed', `the simulated hypervisor was told to fail this ${operation}`);
    await this.#settle();
  }

  /** Ends the guests whose fault is due. */
  async #settle(): Promise<void> {
    for (const guest of [...this.#host.guests.values()]) {
      if (guest.power === 'Off') continue;
      const { id, label } = guest.spec;
      const end = this.#faults.takeEnd(id, label, this.clock.now() - (guest.startedAt ?? 0));
      if (end === 'lose') await this.#vanish(id);
      if (end === 'crash') await this.#turnOff(guest, 'Crashed', 'the simulated hypervisor process died');
    }
  }

  async #turnOff(guest: SimGuest, reason: 'Requested' | 'GuestShutdown' | 'Crashed', words: string): Promise<void> {
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
    if (!this.#host.guests.delete(id)) return await this.#host.settled();
    this.#endSessions(id);
    await this.#changed(id);
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

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

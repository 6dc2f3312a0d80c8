import { rename, rm } from 'node:fs/promises';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import { withDeadline } from '../../../resources/ambient/with-deadline.ts';
import { DriverError, type GuestPower, type ObservedGuest } from '../driver.ts';
import { orAborted } from '../or-aborted.ts';
import { type GuestFiles, makeSocketDir, type SocketRoot } from './guest-files.ts';
import { type GuestRecord, type GuestState, writeRecord, writeState } from './guest-record.ts';
import type { HostProcesses } from './host-processes.ts';
import { howItEnded, startFailure } from './how-it-ended.ts';
import { observeProcess } from './observe.ts';
import { type ConnectAgent, QemuProcess } from './qemu-process.ts';
import { killProcess, spawnQemu } from './spawn-qemu.ts';

/** What every guest of a driver shares. */
export interface GuestHost {
  readonly clock: Clock;
  readonly log: Logger;
  readonly processes: HostProcesses;
  readonly sockets: SocketRoot;
  readonly binary: string;
  readonly connectAgent: ConnectAgent;
  changed(id: string): void;
}

const ASK_MS = 2000;
const QUIT_MS = 3000;
const KILL_MS = 10_000;
const LAUNCH_MS = 30_000;

/** One guest: what is on disk of it, and its QEMU while there is one. The operations are for one caller at a time. */
export class QemuGuest {
  readonly files: GuestFiles;
  readonly #host: GuestHost;
  readonly #log: Logger;
  #record: GuestRecord;
  #state: GuestState;
  #process: QemuProcess | undefined;
  /** Writes of the state, one after the other: an event may come in the middle of an operation. */
  #writing: Promise<void> = Promise.resolve();
  /** The end of the process being written down. */
  #settling: Promise<void> = Promise.resolve();

  constructor(files: GuestFiles, record: GuestRecord, state: GuestState, host: GuestHost) {
    this.files = files;
    this.#record = record;
    this.#state = state;
    this.#host = host;
    this.#log = host.log.child({ guest: record.spec.id });
  }

  get spec(): GuestRecord['spec'] {
    return this.#record.spec;
  }

  get process(): QemuProcess | undefined {
    return this.#process;
  }

  /** Takes the guest's process over if it runs; writes down how it ended if it does not any more. Never starts or ends anything. */
  async adopt(): Promise<void> {
    if (this.#process !== undefined) return;
    const fate = await observeProcess(this.#state, this.files, this.#host.processes);
    if (fate.kind === 'alive') {
      await this.#note({
        ...this.#state,
        pid: fate.pid,
        startTime: fate.startTime,
        bootId: await this.#host.processes.bootId(),
      });
      this.#attach(fate.pid, fate.startTime);
    } else if (this.#state.phase !== 'Off') {
      await this.#settle(fate.kind === 'host-rebooted');
    }
  }

  async keepEpoch(epoch: number): Promise<void> {
    if (epoch <= this.spec.epoch) return;
    this.#record = { ...this.#record, spec: { ...this.spec, epoch } };
    await writeRecord(this.files, this.#record);
    this.#host.changed(this.spec.id);
  }

  observe(): ObservedGuest {
    const { spec } = this;
    const state = this.#state;
    const off = this.#power() === 'Off';
    const running = off ? undefined : this.#process;
    return {
      id: spec.id,
      label: spec.label,
      power: this.#power(),
      agentReady: this.#record.agent ? (running?.agentAnswered ?? false) : undefined,
      guestOS: spec.guestOS,
      vcpus: spec.vcpus,
      memoryBytes: spec.memoryBytes,
      epoch: spec.epoch,
      imageDigest: spec.image.digest,
      addresses: running?.addresses ?? [],
      ...(off ? {} : { startedFrom: 'cold' as const }),
      ...(state.startedAt === undefined ? {} : { startedAt: state.startedAt }),
      ...(off && state.stopReason !== undefined ? { stopReason: state.stopReason } : {}),
      ...(off && state.message !== undefined ? { message: state.message } : {}),
      ...(running?.problem === undefined ? {} : { problem: running.problem }),
    };
  }

  /** Starts QEMU with the arguments, unless it runs. Resolves when the guest's first instruction may run. */
  async start(argv: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#settling;
    if (this.#process === undefined) await this.adopt();
    const process = this.#process ?? (await this.#launch(argv, signal));
    await this.#untilMonitor(process, signal);
    if (process.status === 'prelaunch') await process.command('cont', signal);
    if (this.#state.phase !== 'Running') await this.#change({ ...this.#state, phase: 'Running' });
    this.#host.changed(this.spec.id);
  }

  /** Ends the guest: asks it, waits for the grace, then ends QEMU. Resolves when the process is gone. */
  async stop(graceMs: number, signal: AbortSignal): Promise<void> {
    const process = this.#process;
    if (process === undefined) {
      await this.#settling;
      await this.#acknowledge();
      return;
    }
    // Where it cannot be written down it is done all the same: a guest on a full disk must be able to go, its own folder missing must not keep it.
    await this.#note({ ...this.#state, phase: 'Stopping' });
    this.#host.changed(this.spec.id);
    if (graceMs > 0) {
      await this.#within(ASK_MS, signal, (s) => this.#ask(process, s));
      await this.#goneWithin(process, graceMs, signal);
    }
    if (this.#process === process) await this.#within(ASK_MS, signal, (s) => process.command('quit', s));
    if (this.#process === process) await this.#goneWithin(process, QUIT_MS, signal);
    if (this.#process === process) await this.#kill(process, signal);
    await this.#settling;
  }

  async pause(signal: AbortSignal): Promise<void> {
    await this.#on().command('stop', signal);
    this.#host.changed(this.spec.id);
  }

  async resume(signal: AbortSignal): Promise<void> {
    await this.#on().command('cont', signal);
    this.#host.changed(this.spec.id);
  }

  /** Deletes everything. The folder gets another name first: a crash in between leaves what is known to be rubbish. */
  async delete(): Promise<void> {
    await this.#writing;
    const rubbish = `${this.files.dir}.removing`;
    await rm(rubbish, { recursive: true, force: true });
    await rename(this.files.dir, rubbish).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rm(rubbish, { recursive: true, force: true });
    if (this.files.socketDir !== this.files.dir) await rm(this.files.socketDir, { recursive: true, force: true });
    this.#host.changed(this.spec.id);
  }

  /** Lets go of the process; it goes on. */
  async detach(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    await process?.[Symbol.asyncDispose]();
    await this.#settling;
    await this.#writing;
  }

  #power(): GuestPower {
    if (this.#process === undefined) return 'Off';
    const { phase } = this.#state;
    if (phase === 'Starting' || phase === 'Stopping') return phase;
    return this.#process.status === 'paused' ? 'Paused' : 'Running';
  }

  #on(): QemuProcess {
    if (this.#process === undefined) throw new DriverError('NotRunning', `guest ${this.spec.label} is off`);
    return this.#process;
  }

  async #launch(argv: readonly string[], signal: AbortSignal): Promise<QemuProcess> {
    await makeSocketDir(this.files, this.#host.sockets);
    // Left by a killed QEMU; a connection to it would only fail, but later than to none.
    for (const socket of [this.files.qmpSocket, this.files.agentSocket]) await rm(socket, { force: true });
    const { clock, processes } = this.#host;
    const startedAt = clock.now();
    const generation = this.#state.generation + 1;
    const bootId = await processes.bootId();
    await this.#change({ schema: 1, phase: 'Starting', generation, startedAt, bootId });
    signal.throwIfAborted();
    const pid = await spawnQemu(this.#host.binary, argv, this.files, this.#log);
    const startTime = (await processes.find(pid))?.startTime;
    await this.#change({ ...this.#state, pid, ...(startTime === undefined ? {} : { startTime }) });
    const process = this.#attach(pid, startTime);
    this.#log.info('guest process started', { pid, generation });
    return process;
  }

  #attach(pid: number, startTime: string | undefined): QemuProcess {
    const process: QemuProcess = new QemuProcess({
      pid,
      files: this.files,
      clock: this.#host.clock,
      log: this.#log,
      connectAgent: this.#record.agent ? this.#host.connectAgent : undefined,
      alive: async () => (await this.#host.processes.find(pid))?.startTime === startTime && startTime !== undefined,
      changed: () => this.#host.changed(this.spec.id),
      ended: (reason) => this.#note({ ...this.#state, shutdownReason: reason }),
    });
    this.#process = process;
    this.#settling = Promise.resolve();
    void process.gone.then(() => {
      if (this.#process === process) this.#settling = this.#settle(false);
    });
    return process;
  }

  /** Waits for the monitor of a process just started. If the process ends instead, says why. */
  async #untilMonitor(process: QemuProcess, signal: AbortSignal): Promise<void> {
    try {
      await withDeadline(this.#host.clock, LAUNCH_MS, signal, (s) => process.monitor(s));
    } catch (error) {
      signal.throwIfAborted();
      if (!process.ended)
        throw new DriverError('Failed', `guest ${this.spec.label}: QEMU does not answer`, { cause: error });
      await this.#settling;
      throw await startFailure(this.spec.label, this.files);
    }
  }

  async #ask(process: QemuProcess, signal: AbortSignal): Promise<void> {
    if (process.status === 'paused' || process.status === 'prelaunch') await process.command('cont', signal);
    if (process.agent === undefined) await process.command('system_powerdown', signal);
    else await process.agent.shutdown(signal).catch(() => process.command('system_powerdown', signal));
  }

  async #kill(process: QemuProcess, signal: AbortSignal): Promise<void> {
    const fate = await observeProcess(this.#state, this.files, this.#host.processes);
    this.#log.info('guest process killed', { pid: process.pid });
    if (fate.kind === 'alive') killProcess(fate.pid);
    if (!(await this.#goneWithin(process, KILL_MS, signal))) {
      throw new DriverError(
        'Failed',
        `process ${process.pid} of guest ${this.spec.label} is still there ${KILL_MS / 1000} s after it was killed`,
      );
    }
  }

  /** A guest that went off by itself counts as off on request from now on. */
  async #acknowledge(): Promise<void> {
    const { stopReason, message: _message, ...state } = this.#state;
    if (stopReason === undefined || stopReason === 'Requested') return;
    await this.#note({ ...state, stopReason: 'Requested' });
    this.#host.changed(this.spec.id);
  }

  /** Writes down how the guest went off. */
  async #settle(hostRebooted: boolean): Promise<void> {
    const process = this.#process;
    await this.#note(await howItEnded(this.#state, hostRebooted, this.spec.label, this.files));
    if (this.#process === process) this.#process = undefined;
    await process?.[Symbol.asyncDispose]();
    this.#log.info('guest is off', { reason: this.#state.stopReason });
    this.#host.changed(this.spec.id);
  }

  /** As `#change`, for what happens whether or not the disk takes it: after a restart it is found again, with less of the reason. */
  async #note(state: GuestState): Promise<void> {
    await this.#change(state).catch((error) => this.#log.error('guest state not written', { error: String(error) }));
  }

  async #change(state: GuestState): Promise<void> {
    this.#state = state;
    const write = this.#writing.then(() => writeState(this.files, state));
    // Its failure is this caller's to hear of, not of those who wait for it to be over.
    this.#writing = write.catch(() => {});
    await write;
  }

  async #goneWithin(process: QemuProcess, ms: number, signal: AbortSignal): Promise<boolean> {
    return (await this.#within(ms, signal, (s) => orAborted(process.gone, s))) && (await this.#settled());
  }

  async #settled(): Promise<true> {
    await this.#settling;
    return true;
  }

  /** Whether the work was done in time and without an error. What is tried here always has a harsher way after it. */
  async #within(ms: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<unknown>): Promise<boolean> {
    try {
      await withDeadline(this.#host.clock, ms, signal, work);
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}

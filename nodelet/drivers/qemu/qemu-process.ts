import Type from 'typebox';
import { Check } from 'typebox/schema';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import type { AgentConnection } from '../../agent/agent-connection.ts';
import type { ObservedGuest } from '../driver.ts';
import { orAborted } from '../or-aborted.ts';
import { watchPulse } from './agent-pulse.ts';
import type { GuestFiles } from './guest-files.ts';
import { QmpClient, type QmpEvent } from './qmp.ts';

export type ConnectAgent = (socketPath: string, signal: AbortSignal) => Promise<AgentConnection>;

interface QemuProcessOptions {
  readonly pid: number;
  readonly files: GuestFiles;
  readonly clock: Clock;
  readonly log: Logger;
  /** Undefined for an image without an agent. */
  readonly connectAgent: ConnectAgent | undefined;
  /** Whether the process is still there, proven. */
  alive(): Promise<boolean>;
  /** Something about it may have changed. */
  changed(): void;
  /** The guest has ended, or is about to; QEMU waits for whoever asks why. */
  ended(reason: string): Promise<void>;
}

const Status = Type.Object({ status: Type.String() });
const RETRY_FAST_MS = 5;
const RETRY_MS = 250;
/** A starting QEMU listens within some 50 ms; after this many quick looks the next are slow ones. */
const FAST_LOOKS = 400;

/**
 * A running QEMU as this process sees it: its monitor and its guest's agent, connected again whenever they are lost, and what they tell.
 * Detaching leaves QEMU as it is.
 */
export class QemuProcess implements AsyncDisposable {
  readonly pid: number;
  readonly #options: QemuProcessOptions;
  readonly #detached = new AbortController();
  readonly #gone = Promise.withResolvers<void>();
  #ended = false;
  #connected = Promise.withResolvers<QmpClient>();
  #monitor: QmpClient | undefined;
  #agent: AgentConnection | undefined;
  #agentAnswered = false;
  #agentSilent = false;
  #addresses: readonly string[] = [];
  #status = 'unknown';
  #problem: ObservedGuest['problem'];
  readonly #loops: Promise<void>;

  constructor(options: QemuProcessOptions) {
    this.pid = options.pid;
    this.#options = options;
    this.#loops = Promise.all([this.#watchMonitor(), this.#watchAgent()]).then(() => {});
  }

  /** QEMU's word for what the guest does: `prelaunch`, `running`, `paused`, `io-error`, `shutdown`…; `unknown` while no monitor answers. */
  get status(): string {
    return this.#status;
  }
  /** Undefined while there is no session, or the agent has fallen silent in it. */
  get agent(): AgentConnection | undefined {
    return this.#agentSilent ? undefined : this.#agent;
  }
  /** Whether it has answered since this start, and has not fallen silent. */
  get agentAnswered(): boolean {
    return this.#agentAnswered && !this.#agentSilent;
  }
  get addresses(): readonly string[] {
    return this.#addresses;
  }
  get problem(): ObservedGuest['problem'] {
    return this.#problem;
  }
  get ended(): boolean {
    return this.#ended;
  }
  /** Resolves when the process has ended; never if it is detached from before. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** Resolves when the monitor answers, or the process has ended. */
  get ready(): Promise<unknown> {
    return Promise.race([this.#connected.promise, this.gone]);
  }

  /** The monitor, once it answers. Rejects when the process ends first, or with the signal's reason. */
  async monitor(signal: AbortSignal): Promise<QmpClient> {
    const ended = this.gone.then(() => {
      throw new Error('QEMU ended');
    });
    return await orAborted(Promise.race([this.#connected.promise, ended]), signal);
  }

  /** Sends a monitor command, and takes the guest's new status after it. */
  async command(name: 'cont' | 'stop' | 'system_powerdown' | 'quit', signal: AbortSignal): Promise<void> {
    const monitor = await this.monitor(signal);
    await monitor.execute(name, {}, signal);
    if (name === 'cont' || name === 'stop') await this.#readStatus(monitor, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#detached.abort(new Error('detached'));
    await this.#monitor?.[Symbol.asyncDispose]();
    await this.#agent?.[Symbol.asyncDispose]();
    await this.#loops;
  }

  async #watchMonitor(): Promise<void> {
    const { signal } = this.#detached;
    const { socketPath, onEvent } = {
      socketPath: this.#options.files.qmpSocket,
      onEvent: (e: QmpEvent) => this.#onEvent(e),
    };
    for (let looks = 0; !signal.aborted; looks++) {
      try {
        const monitor = await QmpClient.connect({ socketPath, onEvent, clock: this.#options.clock }, signal);
        await this.#serve(monitor, signal);
        looks = 0;
      } catch (error) {
        if (looks === FAST_LOOKS && !signal.aborted)
          this.#options.log.error('guest monitor does not answer', { error: String(error) });
      }
      if (signal.aborted) return;
      // What cannot be found out is not an end.
      if (!(await this.#options.alive().catch(() => true))) {
        this.#ended = true;
        this.#gone.resolve();
        return;
      }
      await this.#pause(looks < FAST_LOOKS ? RETRY_FAST_MS : RETRY_MS);
    }
  }

  async #serve(monitor: QmpClient, signal: AbortSignal): Promise<void> {
    this.#monitor = monitor;
    try {
      await this.#readStatus(monitor, signal);
      this.#connected.resolve(monitor);
      this.#options.changed();
      // Events while nobody listened are lost: an end that waits to be asked for is found here.
      if (this.#status === 'shutdown') await this.#onShutdown('guest-shutdown');
      await monitor.closed;
    } finally {
      this.#monitor = undefined;
      this.#status = 'unknown';
      this.#connected = Promise.withResolvers();
      await monitor[Symbol.asyncDispose]();
    }
  }

  async #watchAgent(): Promise<void> {
    const connect = this.#options.connectAgent;
    if (connect === undefined) return;
    const signal = AbortSignal.any([this.#detached.signal, this.#goneSignal()]);
    while (!signal.aborted) {
      try {
        const agent = await connect(this.#options.files.agentSocket, signal);
        if (signal.aborted) {
          await agent[Symbol.asyncDispose]();
          return;
        }
        this.#agent = agent;
        this.#agentAnswered = true;
        this.#agentIsBack();
        void this.#askAddresses(agent, signal);
        await this.#untilLost(agent, signal);
        this.#agent = undefined;
        await agent[Symbol.asyncDispose]();
        if (!signal.aborted) {
          // A session that has ended answers everything with the reason of its end.
          const why = await agent.ping(signal).then(() => 'no reason', String);
          this.#options.log.debug('guest agent session lost', { why });
          this.#problem ??= { reason: 'AgentLost', message: `the session with the guest agent was lost (${why})` };
        }
        this.#options.changed();
      } catch {
        // The socket is not there yet, or the guest breaks the protocol: both may pass.
      }
      await this.#pause(this.#agentAnswered ? RETRY_MS : RETRY_FAST_MS * 4);
    }
  }

  /** Resolves when the session has ended, or is to be ended because nobody answers in it. */
  async #untilLost(agent: AgentConnection, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const options = {
      clock: this.#options.clock,
      expected: () => this.#status === 'running',
      silent: (ms: number) => {
        this.#agentSilent = true;
        const message = `the guest agent has not answered for ${ms / 1000} s; the guest may hang`;
        this.#problem ??= { reason: 'AgentLost', message };
        this.#options.changed();
      },
      answers: () => this.#agentIsBack(),
    };
    const ends = AbortSignal.any([signal, over.signal]);
    // What ends it is the end of this process, or of the session: both are seen elsewhere.
    const pulse = watchPulse(agent, options, ends).catch(() => {});
    await Promise.race([agent.closed, pulse]);
    over.abort(new Error('the session ended'));
    await pulse;
  }

  #agentIsBack(): void {
    this.#agentSilent = false;
    if (this.#problem?.reason === 'AgentLost') this.#problem = undefined;
    this.#options.changed();
  }

  #goneSignal(): AbortSignal {
    const gone = new AbortController();
    void this.#gone.promise.then(() => gone.abort(new Error('QEMU ended')));
    return gone.signal;
  }

  async #askAddresses(agent: AgentConnection, signal: AbortSignal): Promise<void> {
    try {
      this.#addresses = (await agent.info(signal)).addresses;
      if (this.#addresses.length > 0) this.#options.changed();
    } catch (error) {
      if (!signal.aborted) this.#options.log.debug('guest agent told no addresses', { error: String(error) });
    }
  }

  #onEvent({ event, data }: QmpEvent): void {
    // Told to quit, QEMU reports an end once more: the first one is why.
    if (event === 'SHUTDOWN' && data.reason !== 'host-qmp-quit')
      void this.#onShutdown(typeof data.reason === 'string' ? data.reason : 'unknown');
    else if (event === 'STOP' || event === 'RESUME') void this.#refresh();
    else if (event === 'BLOCK_IMAGE_CORRUPTED') {
      this.#problem = { reason: 'ImageCorrupt', message: `its disk is damaged: ${String(data.msg).slice(0, 200)}` };
    } else return;
    this.#options.changed();
  }

  async #refresh(): Promise<void> {
    const monitor = this.#monitor;
    if (monitor === undefined) return;
    await this.#readStatus(monitor, this.#detached.signal).catch((error) => {
      // Only its end can be the cause, and that is seen where the session is waited for.
      this.#options.log.debug('guest status not read', { error: String(error) });
    });
    this.#options.changed();
  }

  async #onShutdown(reason: string): Promise<void> {
    await this.#options.ended(reason);
    await this.#monitor?.execute('quit', {}, this.#detached.signal).catch((error) => {
      this.#options.log.debug('guest was gone before it was told to quit', { error: String(error) });
    });
  }

  async #readStatus(monitor: QmpClient, signal: AbortSignal): Promise<void> {
    const answer = await monitor.execute('query-status', {}, signal);
    if (!Check(Status, answer)) throw new Error('query-status answered something unknown');
    this.#status = answer.status;
    // Of all errors of a disk only a full one stops a guest: see `werror` in its command line.
    if (answer.status === 'io-error') {
      this.#problem = {
        reason: 'DiskFull',
        message: 'the disk of the host is full; the guest waits until there is space',
      };
    } else if (this.#problem?.reason === 'DiskFull') this.#problem = undefined;
  }

  async #pause(ms: number): Promise<void> {
    await this.#options.clock.sleep(ms, this.#detached.signal).catch((error) => {
      if (!this.#detached.signal.aborted) throw error;
    });
  }
}

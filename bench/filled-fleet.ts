import { type FleetProcesses, seconds } from './fleet-processes.ts';
import { FleetVMs } from './fleet-vms.ts';
import type { BenchWorld } from './goal.ts';
import { percentile } from './harness.ts';
import { openLoop } from './open-loop.ts';

const MIB = 1024 ** 2;
const TELL_MS = 10_000;
/** VMs that are made while there are no controllers. */
const MADE_MEANWHILE = 100;

/** A fleet with its VMs, and what is measured of it. */
export class FilledFleet {
  readonly #world: BenchWorld;
  readonly #processes: FleetProcesses;
  readonly #vms: FleetVMs;

  private constructor(world: BenchWorld, processes: FleetProcesses, vms: FleetVMs) {
    this.#world = world;
    this.#processes = processes;
    this.#vms = vms;
  }

  static async open(
    world: BenchWorld,
    processes: FleetProcesses,
    hosts: number,
    held: AsyncDisposableStack,
  ): Promise<FilledFleet> {
    return new FilledFleet(world, processes, await FleetVMs.open(world, processes, hosts, held));
  }

  /** Seconds from the first create until every VM is Ready. */
  async fill(count: number): Promise<number> {
    const { clock, progress } = this.#world;
    const before = this.#cpuMs();
    const began = clock.monotonic();
    const tell = new AbortController();
    void this.#tell(count, began, tell.signal);
    try {
      const keys = await this.#vms.createMany(count);
      progress?.(`${count} VMs made after ${seconds(clock.monotonic() - began)}`);
      await this.#vms.whenReady(keys);
    } finally {
      tell.abort();
    }
    const tookMs = clock.monotonic() - began;
    const cpu = this.#cpuMs().map(
      ({ name, ms }, i) => `${name} ${((ms - (before[i]?.ms ?? 0)) / count).toFixed(2)} ms`,
    );
    progress?.(`all Ready after ${seconds(tookMs)}; CPU a VM: ${cpu.join(', ')}`);
    return tookMs / 1000;
  }

  /** Milliseconds from when a create was due until a watch tells of the binding, the 99th percentile; the VMs are removed again. */
  async boundP99({ perSecond, steadySeconds }: { readonly perSecond: number; readonly steadySeconds: number }) {
    const { clock, signal, progress } = this.#world;
    const made: string[] = [];
    const one = async () => {
      const key = await this.#vms.create();
      made.push(key);
      await this.#vms.whenBound(key);
    };
    const load = { perSecond, seconds: steadySeconds, clock, signal };
    const times = (await openLoop(load, () => ({ kind: 'bound', done: one() }))).get('bound') ?? [];
    progress?.(
      `bound after ${percentile(times, 0.5).toFixed(0)} ms (p50), ${percentile(times, 0.99).toFixed(0)} (p99)`,
    );
    await this.#vms.whenReady(made);
    const began = clock.monotonic();
    await this.#vms.remove(made);
    progress?.(`${made.length} VMs removed after ${seconds(clock.monotonic() - began)}`);
    return percentile(times, 0.99);
  }

  memoryMiB(): number {
    const taken = this.#processes.processes.map((process) => ({ name: process.name, ...process.memory() }));
    const parts = taken.map(({ name, rssBytes, peakBytes }) => `${name} ${mib(rssBytes)} MiB (peak ${mib(peakBytes)})`);
    this.#world.progress?.(`memory: ${parts.join(', ')}`);
    return taken.reduce((sum, { rssBytes }) => sum + rssBytes, 0) / MIB;
  }

  /**
   * Seconds from SIGKILL of the controllers, which are started again at once, until they lead every duty, have nothing left to look at, and VMs that
   * were made meanwhile are Ready.
   */
  async restartControllers(): Promise<number> {
    const { clock, progress } = this.#world;
    await this.#processes.caughtUp();
    const began = clock.monotonic();
    await this.#processes.killControllers();
    const [made] = await Promise.all([this.#vms.createMany(MADE_MEANWHILE), this.#processes.startControllers()]);
    progress?.(`controllers started after ${seconds(clock.monotonic() - began)}`);
    await this.#processes.caughtUp();
    progress?.(`nothing left to look at after ${seconds(clock.monotonic() - began)}`);
    await this.#vms.whenReady(made);
    const tookMs = clock.monotonic() - began;
    progress?.(`VMs made meanwhile are Ready after ${seconds(tookMs)}`);
    await this.#vms.remove(made);
    return tookMs / 1000;
  }

  #cpuMs() {
    return this.#processes.processes.map((process) => ({ name: process.name, ms: process.cpuMs() }));
  }

  async #tell(count: number, began: number, signal: AbortSignal): Promise<void> {
    const { clock, progress } = this.#world;
    for (;;) {
      await clock.sleep(TELL_MS, signal).catch(() => {});
      if (signal.aborted) return;
      progress?.(`${this.#vms.ready} of ${count} Ready after ${seconds(clock.monotonic() - began)}`);
    }
  }
}

const mib = (bytes: number) => (bytes / MIB).toFixed(0);

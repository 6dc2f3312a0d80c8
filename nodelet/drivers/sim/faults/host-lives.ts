import type { Transport } from '../../../../apiserver/client/transport.ts';
import type { Clock } from '../../../../resources/ambient/clock.ts';
import type { Outside } from '../../../outside.ts';
import { together } from '../../../together.ts';
import type { Driver } from '../../driver.ts';
import type { Step } from './fault.ts';
import { FaultyLink } from './faulty-link.ts';
import type { HostFaults } from './host-faults.ts';
import { NodeletCrashed } from './nodelet-crashed.ts';
import { steppedClock } from './stepped-clock.ts';

/** How a driver tells where it is; throws when the process is to get no further. */
export type Reach = (step: Step, vm?: string) => void;

interface HostLivesOptions {
  readonly host: string;
  readonly faults: HostFaults;
  readonly clock: Clock;
  /** Opens the host's driver as it is found after a start, or after a crash of what had it before. */
  readonly openDriver: (reach: Reach) => Promise<Driver>;
  /** Called at the moment of a crash: what was not kept by then is lost. */
  readonly onCrash: () => void;
}

/** One host with faults: runs its nodelet, and again after every crash, with the faults between it and all that is outside. */
export class HostLives {
  readonly #options: HostLivesOptions;

  constructor(options: HostLivesOptions) {
    this.#options = options;
  }

  /**
   * Calls `start` for every life of the nodelet, with what it meets in it, until the signal aborts; a life is over when the signal given to `start` aborts.
   * Rejects when `start` does and it was no crash.
   */
  async run(start: (outside: Outside, signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { faults, clock, host } = this.#options;
    using link = new FaultyLink(host, faults, clock);
    while (!signal.aborted) {
      const crash = await this.#live(link, start, signal);
      if (crash === undefined) return;
      link.cut();
      // From the crash on, however long it took what was left of it to go.
      const leftMs = crash.upAtMs - clock.monotonic();
      if (leftMs > 0) await clock.sleep(leftMs, signal).catch(() => {});
    }
  }

  async #live(
    link: FaultyLink,
    start: (outside: Outside, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<NodeletCrashed | undefined> {
    const { faults, clock, host } = this.#options;
    const dead = new AbortController();
    const die = (downMs: number) => {
      dead.abort(new NodeletCrashed(host, clock.monotonic() + downMs));
      this.#options.onCrash();
    };
    const reach: Reach = (step, vm) => {
      dead.signal.throwIfAborted();
      const downMs = faults.crashesAt(step, vm);
      if (downMs !== undefined) die(downMs);
      dead.signal.throwIfAborted();
    };
    const stopHearing = faults.onCrash(die);
    try {
      await using driver = await this.#options.openDriver(reach);
      const outside = this.#outside(driver, link, reach, dead.signal);
      await together([(ends) => start(outside, ends), (ends) => untilDead(dead.signal, ends)], signal).catch(
        (error: unknown) => {
          if (!dead.signal.aborted) throw error;
        },
      );
    } finally {
      stopHearing();
    }
    return dead.signal.reason instanceof NodeletCrashed ? dead.signal.reason : undefined;
  }

  #outside(driver: Driver, link: FaultyLink, reach: Reach, dead: AbortSignal): Outside {
    const { faults } = this.#options;
    return {
      driver,
      clock: (clock) => steppedClock(clock, () => faults.clockMs),
      transport: (inner) => deadly(link.transport(inner), reach, dead),
      open: async (server, path, protocol, signal) => {
        dead.throwIfAborted();
        const socket = await link.open(server, path, protocol, signal);
        if (dead.aborted) socket.terminate();
        return socket;
      },
      ask: async (question, signal) => {
        dead.throwIfAborted();
        const answer = await link.ask(question, signal);
        dead.throwIfAborted();
        return answer;
      },
    };
  }
}

/** Requests of a nodelet that may die before it sends one, or before it hears that it was done. */
function deadly(inner: Transport, reach: Reach, dead: AbortSignal): Transport {
  return async (request) => {
    dead.throwIfAborted();
    const writes = request.method !== 'GET';
    const vm = /\/namespaces\/([^/?]+)\/vms\/([^/?]+)/.exec(request.path);
    const label = vm === null ? undefined : `${vm[1]}/${vm[2]}`;
    if (writes) reach('BeforeWrite', label);
    const response = await inner(request);
    try {
      if (writes) reach('AfterWrite', label);
      dead.throwIfAborted();
    } catch (error) {
      await response.body[Symbol.asyncIterator]().return?.();
      throw error;
    }
    return response;
  };
}

/** Rejects at the death; resolves when it is not waited for any more. */
function untilDead(dead: AbortSignal, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const die = () => reject(dead.reason);
    if (dead.aborted) die();
    dead.addEventListener('abort', die, { once: true });
    const leave = () => {
      dead.removeEventListener('abort', die);
      resolve();
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
  });
}

import { arch, cpus, platform } from 'node:os';
import type { Driver } from './drivers/driver.ts';
import { orAborted } from './drivers/or-aborted.ts';
import { machineProcesses } from './drivers/qemu/machine-processes.ts';
import { Nodelet, type NodeletOptions } from './nodelet.ts';
import { Standing } from './standing.ts';
import { keepControlConnection, type NodeletInstance } from './streams/control-connection.ts';
import { Dialback } from './streams/dialback.ts';
import type { ControlServers } from './streams/server-socket.ts';
import { together } from './together.ts';

interface RunNodeletOptions extends Omit<NodeletOptions, 'platform' | 'reserveBytes' | 'standing' | 'findProcess'> {
  /** Where to keep the control socket; without it the host serves no streams, and nobody sees that it lives. */
  readonly control?: ControlServers;
  /** Which process this is: it acts only while servers take it for the one of its host. Without it nobody is asked. */
  readonly instance?: NodeletInstance;
  /** What this machine is, when the driver does not tell. */
  readonly platform?: NodeletOptions['platform'];
  /** Memory kept from guests, in bytes; 2 GiB when absent. */
  readonly reserveBytes?: number;
}

const RESERVE_BYTES = 2 * 1024 ** 3;

/** A host at work. */
export interface RunningNodelet {
  /** Images or the machine may be different: look again. */
  rescan(): void;
  /** The operator takes the store as it is now. */
  acknowledgeStore(): Promise<void>;
  /** Resolves when the signal has aborted and nothing is at work any more; rejects when it cannot go on. */
  readonly done: Promise<void>;
}

/** Runs one host until the signal aborts. Guests go on running after that. The driver is the caller's to close, afterwards. */
export function runNodelet(options: RunNodeletOptions, signal: AbortSignal): RunningNodelet {
  const standing = new Standing(options.control === undefined || options.instance === undefined);
  const nodelet = new Nodelet({
    ...options,
    standing,
    log: options.log.child({ host: options.name }),
    platform: options.platform ?? platformOf(options.driver),
    reserveBytes: options.reserveBytes ?? RESERVE_BYTES,
    findProcess: (pid) => machineProcesses(options.clock).find(pid),
  });
  return {
    rescan: () => nodelet.rescan(),
    acknowledgeStore: () => nodelet.acknowledgeStore(),
    done: together([(ends) => nodelet.run(ends), (ends) => serveStreams(nodelet, standing, options, ends)], signal),
  };
}

async function serveStreams(
  nodelet: Nodelet,
  standing: Standing,
  options: RunNodeletOptions,
  signal: AbortSignal,
): Promise<void> {
  const { name: host, control, instance, driver, clock, random } = options;
  if (control === undefined) return;
  await orAborted(nodelet.registered, signal);
  const log = options.log.child({ host });
  const dialback = new Dialback({ host, driver, clock, log, open: control.open });
  await keepControlConnection(
    {
      host,
      control,
      clock,
      random,
      log,
      instance,
      standing,
      onDial: (ticket, stream, server) => dialback.dial(ticket, stream, server, signal),
    },
    signal,
  );
  await dialback.drained();
}

/** Simulated hosts are Macs wherever they are simulated. */
function platformOf(driver: Driver): NodeletOptions['platform'] {
  if (driver.name === 'sim') return { os: 'darwin', arch: 'arm64', chip: 'simulated' };
  const chip = cpus()[0]?.model.trim();
  return {
    os: platform() === 'darwin' ? 'darwin' : 'linux',
    arch: arch(),
    ...(chip === undefined || chip === '' ? {} : { chip }),
  };
}

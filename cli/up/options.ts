import type { FaultsFile } from '../../nodelet/drivers/sim/faults/faults-file.ts';
import { Failure } from '../failure.ts';
import type { Io } from '../io.ts';
import { checkFaultyHosts } from '../serve/faulty-hosts.ts';
import { folderIn, portFrom } from '../serve/server-options.ts';
import { type StoreFlags, type StoreOptions, storeOptions } from '../serve/store-options.ts';

/** What `coppice up` was asked for, with defaults filled in. */
export interface UpOptions {
  /** Absolute. */
  readonly home: string;
  readonly store: StoreOptions;
  /** Absolute: keys and certificates that other servers use too; the home's own where there is none. */
  readonly pki: string | undefined;
  /** 0 is any free port. */
  readonly port: number;
  readonly driver: 'auto' | 'qemu' | 'sim';
  /** Simulated hosts, as asked for. The other drivers have one host, this machine. */
  readonly hosts: number | undefined;
  readonly quickstart: boolean;
  /** What simulated hosts do wrong. */
  readonly faults: FaultsFile | undefined;
}

const DEFAULT_SIM_HOSTS = 3;

/** What simulated hosts are called. */
export function simulatedHosts({ hosts = DEFAULT_SIM_HOSTS }: Pick<UpOptions, 'hosts'>): readonly string[] {
  return Array.from({ length: hosts }, (_, i) => `mac-${i + 1}`);
}

/** Resolves when the control plane has stopped. Throws a `Failure` when it cannot start; guests are left running either way. */
export type RunUp = (options: UpOptions, io: Io, signal: AbortSignal) => Promise<void>;

/** Checks flags against each other and fills in the environment and defaults. */
export function upOptions(
  flags: StoreFlags & {
    readonly home: string;
    readonly pki: string | undefined;
    readonly port: number | undefined;
    readonly driver: string;
    readonly hosts: number | undefined;
    readonly noQuickstart: boolean;
    /** Read already. */
    readonly faults: FaultsFile | undefined;
  },
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): UpOptions {
  const { driver } = flags;
  if (driver !== 'auto' && driver !== 'qemu' && driver !== 'sim') throw new Failure(`there is no driver "${driver}"`);
  if (driver !== 'sim' && flags.hosts !== undefined && flags.hosts !== 1)
    throw new Failure('--hosts is for simulated hosts', { hint: `add --driver sim` });
  if (driver !== 'sim' && flags.faults !== undefined)
    throw new Failure('--faults is for simulated hosts', { hint: `add --driver sim` });
  checkFaultyHosts(flags.faults, simulatedHosts(flags));
  return {
    home: folderIn('home', flags.home, cwd),
    store: storeOptions(flags, env, cwd),
    pki: flags.pki === undefined ? undefined : folderIn('pki', flags.pki, cwd),
    port: flags.port ?? portFrom(env.COPPICE_PORT),
    driver,
    hosts: flags.hosts,
    quickstart: !flags.noQuickstart,
    faults: flags.faults,
  };
}

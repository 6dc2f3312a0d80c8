import { UnreachableError } from '../../../apiserver/client/unreachable-error.ts';
import { changeAdminKubeconfig } from '../../../apiserver/pki/admin-kubeconfig.ts';
import { readAuthorities } from '../../../apiserver/pki/authority-files.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Ids } from '../../../resources/ambient/ids.ts';
import { Failure } from '../../failure.ts';
import type { Io } from '../../io.ts';
import type { KeyFolder, KeyFolderFlags } from './key-folder.ts';
import { awaitHosts, awaitServers, kubeconfigFor, type ReportsDeps, type ServerReport } from './server-reports.ts';

export interface RotateOptions extends KeyFolderFlags {
  readonly what: readonly string[];
  readonly finish: boolean;
  readonly force: boolean;
  /** No server runs, and none is asked. */
  readonly offline: boolean;
  readonly trustOnly: boolean;
  /** How long the old token of the operator is still accepted. */
  readonly keepOldMs: number | undefined;
  readonly timeoutMs: number;
  readonly kubeconfig: string | undefined;
}

/** What the steps of a change have at hand. */
export interface Rotating {
  readonly io: Io;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly folder: KeyFolder;
  readonly options: RotateOptions;
}

/** The home's kubeconfig trusts what the folder trusts. */
export function trustInKubeconfig({ path, kubeconfig }: KeyFolder): void {
  const authorities = readAuthorities(path);
  if (authorities !== undefined) changeAdminKubeconfig(kubeconfig, { caCert: authorities.bundle });
}

/** Waits for every server that runs; who that was, in words. */
export async function everyServer(
  rotating: Rotating,
  what: string,
  holds: (report: ServerReport) => boolean,
): Promise<string> {
  const { options } = rotating;
  if (options.offline) return 'nobody: no server was asked';
  const names = await awaitServers(reportsDeps(rotating), { what, timeoutMs: options.timeoutMs, holds }).catch(
    unlessNoServer,
  );
  return names.length === 1 ? `server ${names[0]}` : `servers ${names.join(', ')}`;
}

/** Waits for every enrolled host to be told of the authorities as they are now. Those of `up` share them with their server. */
export async function everyHost(rotating: Rotating): Promise<void> {
  const { options } = rotating;
  if (!options.offline && !options.force) await awaitHosts(reportsDeps(rotating), options.timeoutMs);
}

export function reportsDeps({ io, clock, folder, options }: Rotating): ReportsDeps {
  return { io, clock, folder: folder.path, kubeconfig: kubeconfigFor(folder, options.kubeconfig) };
}

function unlessNoServer(error: unknown): never {
  if (!(error instanceof UnreachableError)) throw error;
  throw new Failure(`no server says which keys it works with: ${error.message}`, {
    hint: 'run this again when one runs, which goes on from here; where none does, add --offline',
    cause: error,
  });
}

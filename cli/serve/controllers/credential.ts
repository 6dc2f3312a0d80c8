import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Connection } from '../../../apiserver/client/https-transport.ts';
import { Failure } from '../../failure.ts';
import type { Io } from '../../io.ts';
import { connectionOf } from '../../kubeconfig/connection.ts';
import { loadKubeconfig } from '../../kubeconfig/kubeconfig.ts';
import { CONTROLLERS_KUBECONFIG } from '../home.ts';
import type { ControllersProcessOptions } from './options.ts';

/** Fields of a kubeconfig that name files. */
const FILES = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'];

/** A credential and the files it was read from. */
interface Credential {
  readonly connection: Connection;
  readonly files: readonly string[];
}

/**
 * Reads the credential: of `--kubeconfig`, else of the file that the server of `--home` or `$COPPICE_HOME` wrote, else of `$KUBECONFIG`, else of that file
 * in the default home, else of where kubectl would look. Throws a `Failure`, also when `--home` has no such file: whoever names a home means its server.
 */
export async function readCredential(options: ControllersProcessOptions, io: Io): Promise<Credential> {
  const config = await loadKubeconfig(io, options.kubeconfig ?? ofHome(options, io));
  const { connection } = await connectionOf(config, options.context);
  const parts = [...config.clusters.values(), ...config.users.values()];
  const named = parts.flatMap((part) => FILES.map((field) => part[field])).filter((path) => typeof path === 'string');
  return { connection, files: [...config.files, ...named] };
}

/** The file of the home, if it is the one to use. */
function ofHome({ home, homeFrom }: ControllersProcessOptions, io: Io): string | undefined {
  const own = resolve(io.cwd, home, CONTROLLERS_KUBECONFIG);
  if (existsSync(own)) return homeFrom !== 'default' || !io.env.KUBECONFIG ? own : undefined;
  if (homeFrom !== 'flag') return undefined;
  throw new Failure(`there is no ${own}`, {
    hint: 'the server of that home writes it when it starts; for another server name a file with --kubeconfig',
  });
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Connection } from '../../../apiserver/client/https-transport.ts';
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
 * Reads the credential: of `--kubeconfig`, else of the file that the server of `--home` wrote, else of `$KUBECONFIG`, else of that file in the default home,
 * else of where kubectl would look. Throws a `Failure`.
 */
export async function readCredential(options: ControllersProcessOptions, io: Io): Promise<Credential> {
  const own = join(options.home, CONTROLLERS_KUBECONFIG);
  const useOwn = (options.homeGiven || !io.env.KUBECONFIG) && existsSync(own);
  const config = await loadKubeconfig(io, options.kubeconfig ?? (useOwn ? own : undefined));
  const { connection } = await connectionOf(config, options.context);
  const parts = [...config.clusters.values(), ...config.users.values()];
  const named = parts.flatMap((part) => FILES.map((field) => part[field])).filter((path) => typeof path === 'string');
  return { connection, files: [...config.files, ...named] };
}

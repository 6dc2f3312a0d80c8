import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import type { Connection } from '../../apiserver/client/https-transport.ts';
import { Failure } from '../failure.ts';
import type { Kubeconfig } from './kubeconfig.ts';

/** Credentials that an exec plugin or auth provider makes. Imported only for such contexts: the library is slow to load. */
export async function pluginConnection(config: Kubeconfig, context: string): Promise<Partial<Connection>> {
  const named = (map: ReadonlyMap<string, object>, field: string) =>
    [...map].map(([name, content]) => ({ name, [field]: content }));
  const library = new KubeConfig();
  library.loadFromString(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': context,
      clusters: named(config.clusters, 'cluster'),
      users: named(config.users, 'user'),
      contexts: named(config.contexts, 'context'),
    }),
  );
  const options: RequestOptions = {};
  try {
    await library.applyToHTTPSOptions(options);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Failure(`the credential plugin of context "${context}" failed: ${why}`, { cause });
  }
  const header = headerOf(options.headers);
  return {
    ...(options.cert === undefined ? {} : { cert: String(options.cert) }),
    ...(options.key === undefined ? {} : { key: String(options.key) }),
    ...(header === undefined ? {} : { authorization: async () => header }),
  };
}

function headerOf(headers: RequestOptions['headers']): string | undefined {
  if (headers === undefined || Array.isArray(headers)) return undefined;
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  return typeof value === 'string' ? value : undefined;
}

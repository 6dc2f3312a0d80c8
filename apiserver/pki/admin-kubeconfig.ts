import { existsSync, readFileSync } from 'node:fs';
import { dump, load } from 'js-yaml';
import { isObject } from '../../resources/meta/object.ts';
import { writePrivate } from './write-private.ts';

/** The token in a kubeconfig that this server wrote earlier, if it still holds one. */
export function tokenIn(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const parsed: unknown = load(readFileSync(path, 'utf8'));
    const users = isObject(parsed) && Array.isArray(parsed.users) ? parsed.users : [];
    const user: unknown = users.find((entry: unknown) => isObject(entry) && entry.name === 'coppice-operator');
    const token = isObject(user) && isObject(user.user) ? user.user.token : undefined;
    return typeof token === 'string' ? token : undefined;
  } catch {
    // A file that is no kubeconfig any more holds no token: a new one is made and the file written anew.
    return undefined;
  }
}

/** Writes the operator's kubeconfig, readable by its owner only. */
export function writeAdminKubeconfig(
  path: string,
  { server, caCert, token }: { server: string; caCert: string; token: string },
): void {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'coppice',
    clusters: [
      { name: 'coppice', cluster: { server, 'certificate-authority-data': Buffer.from(caCert).toString('base64') } },
    ],
    users: [{ name: 'coppice-operator', user: { token } }],
    contexts: [{ name: 'coppice', context: { cluster: 'coppice', user: 'coppice-operator' } }],
  };
  writePrivate(path, dump(config, { lineWidth: -1 }));
}

import { existsSync, readFileSync } from 'node:fs';
import { dump, load } from 'js-yaml';
import { isObject } from '../../resources/meta/object.ts';
import type { KeyPair } from './leaf-life.ts';
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

/** What shows that one is the operator. */
export type OperatorCredential = { readonly token: string } | KeyPair;

/** Writes the operator's kubeconfig, readable by its owner only. */
export function writeAdminKubeconfig(
  path: string,
  { server, caCert, ...credential }: { readonly server: string; readonly caCert: string } & OperatorCredential,
): void {
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  const user =
    'token' in credential
      ? { token: credential.token }
      : { 'client-certificate-data': base64(credential.cert), 'client-key-data': base64(credential.key) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'coppice',
    clusters: [{ name: 'coppice', cluster: { server, 'certificate-authority-data': base64(caCert) } }],
    users: [{ name: 'coppice-operator', user }],
    contexts: [{ name: 'coppice', context: { cluster: 'coppice', user: 'coppice-operator' } }],
  };
  writePrivate(path, dump(config, { lineWidth: -1 }));
}

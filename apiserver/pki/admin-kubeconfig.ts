import { existsSync, readFileSync } from 'node:fs';
import { dump, load, YAMLException } from 'js-yaml';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { KeyPair } from './leaf-life.ts';
import { writePrivate } from './write-private.ts';

const USER = 'coppice-operator';

/** The token in a kubeconfig that this server wrote earlier, if it still holds one. */
export function tokenIn(path: string): string | undefined {
  const users = configAt(path)?.users;
  const user: unknown = Array.isArray(users) ? users.find((each) => isObject(each) && each.name === USER) : undefined;
  const token = isObject(user) && isObject(user.user) ? user.user.token : undefined;
  return typeof token === 'string' ? token : undefined;
}

/** A file that is no kubeconfig any more is as good as none: it is written anew. */
function configAt(path: string): JsonObject | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const parsed: unknown = load(readFileSync(path, 'utf8'));
    return isObject(parsed) ? parsed : undefined;
  } catch (error) {
    if (error instanceof YAMLException) return undefined;
    throw error;
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
    users: [{ name: USER, user }],
    contexts: [{ name: 'coppice', context: { cluster: 'coppice', user: USER } }],
  };
  writePrivate(path, dump(config, { lineWidth: -1 }));
}

/** Gives a kubeconfig that a server wrote other authorities to trust, or another token, and leaves the rest of it as it is. */
export function changeAdminKubeconfig(
  path: string,
  { caCert, token }: { readonly caCert?: string; readonly token?: string },
): void {
  const config = configAt(path);
  if (config === undefined) return;
  const ca = caCert === undefined ? {} : { 'certificate-authority-data': Buffer.from(caCert).toString('base64') };
  const user = token === undefined ? undefined : { token };
  const changed = {
    ...config,
    clusters: changedEntry(config.clusters, 'coppice', 'cluster', (cluster) => ({ ...cluster, ...ca })),
    users: changedEntry(config.users, USER, 'user', (old) => user ?? old),
  };
  const text = dump(changed, { lineWidth: -1 });
  if (text !== readFileSync(path, 'utf8')) writePrivate(path, text);
}

function changedEntry(
  list: unknown,
  name: string,
  field: string,
  change: (content: JsonObject) => JsonObject,
): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((entry: unknown) => {
    if (!isObject(entry) || entry.name !== name) return entry;
    const content = entry[field];
    return { ...entry, [field]: change(isObject(content) ? content : {}) };
  });
}

import { readFileSync } from 'node:fs';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import {
  base64,
  type ClientCredential,
  kubeconfigText,
  newKubeconfig,
  readKubeconfig,
  userOf,
} from './kubeconfig-file.ts';
import { writePrivate } from './write-private.ts';

const USER = 'coppice-operator';

/** The token in a kubeconfig that this server wrote earlier, if it still holds one. */
export function tokenIn(path: string): string | undefined {
  const { token } = userOf(readKubeconfig(path), USER);
  return typeof token === 'string' ? token : undefined;
}

/** Writes the operator's kubeconfig, readable by its owner only. */
export function writeAdminKubeconfig(
  path: string,
  { server, caCert, ...credential }: { readonly server: string; readonly caCert: string } & ClientCredential,
): void {
  writePrivate(path, newKubeconfig({ context: 'coppice', user: USER }, { server, caCert }, credential));
}

/** Gives a kubeconfig that a server wrote other authorities to trust, or another token, and leaves the rest of it as it is. */
export function changeAdminKubeconfig(
  path: string,
  { caCert, token }: { readonly caCert?: string; readonly token?: string },
): void {
  const config = readKubeconfig(path);
  if (config === undefined) return;
  const ca = caCert === undefined ? {} : { 'certificate-authority-data': base64(caCert) };
  const user = token === undefined ? undefined : { token };
  const changed = {
    ...config,
    clusters: changedEntry(config.clusters, 'coppice', 'cluster', (cluster) => ({ ...cluster, ...ca })),
    users: changedEntry(config.users, USER, 'user', (old) => user ?? old),
  };
  const text = kubeconfigText(changed);
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

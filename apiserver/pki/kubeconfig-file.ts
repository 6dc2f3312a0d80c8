import { existsSync, readFileSync } from 'node:fs';
import { dump, load, YAMLException } from 'js-yaml';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { KeyPair } from './leaf-life.ts';

/** What shows who one is. */
export type ClientCredential = { readonly token: string } | KeyPair;

/** What is in a kubeconfig that a server wrote earlier; undefined for a file that is none any more, which is as good as absent. */
export function readKubeconfig(path: string): JsonObject | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const parsed: unknown = load(readFileSync(path, 'utf8'));
    return isObject(parsed) ? parsed : undefined;
  } catch (error) {
    if (error instanceof YAMLException) return undefined;
    throw error;
  }
}

/** What a kubeconfig holds of a user; nothing where there is none of that name. */
export function userOf(config: JsonObject | undefined, name: string): JsonObject {
  const users = config?.users;
  const entry: unknown = Array.isArray(users) ? users.find((each) => isObject(each) && each.name === name) : undefined;
  return isObject(entry) && isObject(entry.user) ? entry.user : {};
}

/** A kubeconfig with one context. */
export function newKubeconfig(
  { context, user }: { readonly context: string; readonly user: string },
  { server, caCert }: { readonly server: string; readonly caCert: string },
  credential: ClientCredential,
): string {
  const shown =
    'token' in credential
      ? { token: credential.token }
      : { 'client-certificate-data': base64(credential.cert), 'client-key-data': base64(credential.key) };
  return kubeconfigText({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    clusters: [{ name: 'coppice', cluster: { server, 'certificate-authority-data': base64(caCert) } }],
    users: [{ name: user, user: shown }],
    contexts: [{ name: context, context: { cluster: 'coppice', user } }],
  });
}

export function kubeconfigText(config: JsonObject): string {
  return dump(config, { lineWidth: -1 });
}

export function base64(pem: string): string {
  return Buffer.from(pem).toString('base64');
}

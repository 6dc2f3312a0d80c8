import { existsSync, readFileSync } from 'node:fs';
import { dump, load } from 'js-yaml';
import type { Clock } from '../../resources/ambient/clock.ts';
import { isObject } from '../../resources/meta/object.ts';
import { CONTROLLER_PROCESS } from '../auth/identity.ts';
import { type KeyPair, shouldRenew } from './leaf-life.ts';
import type { Pki } from './pki-files.ts';
import { writePrivate } from './write-private.ts';

export interface ControllersKubeconfig {
  readonly path: string;
  readonly server: string;
  readonly pki: Pick<Pki, 'caCert' | 'isCurrent' | 'issueClient'>;
  readonly clock: Clock;
}

/**
 * Writes the kubeconfig of processes of controllers, readable by its owner only, with a certificate that may stand in for duties and do nothing by itself.
 * Leaves one that still says what it should, and makes a new certificate when the old is near its end or another authority's.
 */
export async function keepControllersKubeconfig({ path, server, pki, clock }: ControllersKubeconfig): Promise<void> {
  const { caCert } = pki;
  const kept = pairIn(path);
  const good = kept !== undefined && pki.isCurrent(kept) && !shouldRenew(kept.cert, [], clock.now());
  const { user, groups } = CONTROLLER_PROCESS;
  const pair = good ? kept : await pki.issueClient({ commonName: user, organizations: groups.slice(0, 1) });
  const content = contentOf(server, caCert, pair);
  if (!existsSync(path) || readFileSync(path, 'utf8') !== content) writePrivate(path, content);
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

function contentOf(server: string, caCert: string, { cert, key }: KeyPair): string {
  const name = 'coppice-controllers';
  const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name: 'coppice', cluster: { server, 'certificate-authority-data': base64(caCert) } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: 'coppice', user: name } }],
  };
  return dump(config, { lineWidth: -1 });
}

/** The certificate and key in such a file; undefined when it holds none. */
function pairIn(path: string): KeyPair | undefined {
  if (!existsSync(path)) return undefined;
  let parsed: unknown;
  try {
    parsed = load(readFileSync(path, 'utf8'));
  } catch {
    // A file that is no kubeconfig any more is written anew.
    return undefined;
  }
  const [first] = isObject(parsed) && Array.isArray(parsed.users) ? parsed.users : [];
  const user = isObject(first) && isObject(first.user) ? first.user : {};
  const { 'client-certificate-data': cert, 'client-key-data': key } = user;
  if (typeof cert !== 'string' || typeof key !== 'string') return undefined;
  return { cert: Buffer.from(cert, 'base64').toString(), key: Buffer.from(key, 'base64').toString() };
}

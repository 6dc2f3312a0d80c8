import { existsSync, readFileSync } from 'node:fs';
import type { Clock } from '../../resources/ambient/clock.ts';
import { CONTROLLER_PROCESS } from '../auth/identity.ts';
import { newKubeconfig, readKubeconfig, userOf } from './kubeconfig-file.ts';
import { type KeyPair, shouldRenew } from './leaf-life.ts';
import type { Pki } from './pki-files.ts';
import { writePrivate } from './write-private.ts';

const USER = 'coppice-controllers';

interface ControllersKubeconfig {
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
  const content = newKubeconfig({ context: USER, user: USER }, { server, caCert }, pair);
  if (!existsSync(path) || readFileSync(path, 'utf8') !== content) writePrivate(path, content);
}

/** The certificate and key in such a file; undefined when it holds none. */
function pairIn(path: string): KeyPair | undefined {
  const { 'client-certificate-data': cert, 'client-key-data': key } = userOf(readKubeconfig(path), USER);
  if (typeof cert !== 'string' || typeof key !== 'string') return undefined;
  return { cert: Buffer.from(cert, 'base64').toString(), key: Buffer.from(key, 'base64').toString() };
}

import { hostname } from 'node:os';
import { join } from 'node:path';
import { tokenIn } from '../../apiserver/pki/admin-kubeconfig.ts';
import type { ClientCredential } from '../../apiserver/pki/kubeconfig-file.ts';
import { openPki, type Pki } from '../../apiserver/pki/pki-files.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Home } from './home.ts';
import { makeFolder } from './make-folder.ts';
import type { ServerOptions } from './server-options.ts';
import { takeTurn } from './turn.ts';

/** What a server has of its folder of keys. */
export interface ServerPki {
  readonly pki: Pki;
  /** Where the folder is. */
  readonly folder: string;
  readonly operatorTokenHash: string;
  readonly serviceAccountKey: string;
  readonly sealingKeys: readonly string[];
  /** For the kubeconfig of the home: the operator's token, or where only another home has it, a certificate that says the same for ninety days. */
  operatorCredential(): Promise<ClientCredential>;
}

/** Opens the home's folder of keys, or the one that is shared; what is missing is made by one server at a time. The server's own leaf stays in its home. */
export async function openServerPki(
  options: Pick<ServerOptions, 'pki' | 'listen' | 'advertise' | 'names'> & { readonly home: Home },
  clock: Clock,
  ids: Ids,
): Promise<ServerPki> {
  const { home, pki: shared, listen, advertise, names } = options;
  const folder = shared ?? home.pki;
  makeFolder(folder);
  using _turn = await takeTurn(join(folder, 'turn'), clock);
  const leafNames = new Set(['localhost', '127.0.0.1', '::1', hostname(), ...hostsOf(listen, advertise), ...names]);
  const pki = await openPki(folder, [...leafNames], clock, ids, home.pki);
  const known = tokenIn(home.kubeconfig);
  const { token, hash } = shared === undefined ? pki.operator(known) : pki.sharedOperator(known);
  return {
    pki,
    folder,
    operatorTokenHash: hash,
    serviceAccountKey: pki.serviceAccountKey(),
    sealingKeys: pki.sealingKeys(),
    operatorCredential: async () =>
      token === undefined
        ? pki.issueClient({ commonName: 'operator', organizations: ['coppice:operators'] })
        : { token },
  };
}

/** All addresses are no address to be reached at. */
const EVERY_ADDRESS = new Set(['0.0.0.0', '::']);

export function isEveryAddress(address: string): boolean {
  return EVERY_ADDRESS.has(address);
}

function hostsOf(listen: string, advertise: string | undefined): readonly string[] {
  const host = advertise === undefined ? [] : [new URL(advertise).hostname.replace(/^\[|\]$/g, '')];
  return [...(isEveryAddress(listen) ? [] : [listen]), ...host];
}

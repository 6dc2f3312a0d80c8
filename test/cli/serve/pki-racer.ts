/** A process that opens the keys of a server's home when it is told to on stdin, and tells what it got as a line of JSON. */
import { once } from 'node:events';
import { tokenHash } from '../../../apiserver/auth/bearer-tokens.ts';
import { openHome } from '../../../cli/serve/home.ts';
import { openServerPki } from '../../../cli/serve/open-server-pki.ts';
import { ALONE } from '../../../cli/serve/server-options.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

const [home = '', pki = ''] = process.argv.slice(2);
const opened = openHome(home);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const keys = await openServerPki({ ...ALONE, home: opened, pki }, systemClock, systemIds);
const credential = await keys.operatorCredential();
const told = {
  ca: keys.pki.caCert,
  hash: keys.operatorTokenHash,
  serviceAccountKey: keys.serviceAccountKey,
  sealingKeys: keys.sealingKeys,
  leaf: (await keys.pki.serverLeaf()).cert,
  tokenHash: 'token' in credential ? tokenHash(credential.token) : null,
  cert: 'cert' in credential ? credential.cert : null,
};
process.stdout.write(`${JSON.stringify(told)}\n`);
process.exit(0);

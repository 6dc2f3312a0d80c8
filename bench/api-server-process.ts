/** The API server alone in a process, over the store and keys in a folder. Prints one line of JSON when it listens; ends with its stdin. */
import { join } from 'node:path';
import { listen } from '../apiserver/listen.ts';
import { openPki } from '../apiserver/pki/pki-files.ts';
import { startApiServer } from '../apiserver/server.ts';
import { SqliteStore } from '../apiserver/store/sqlite/store.ts';
import { silentLogger } from '../resources/ambient/log.ts';
import { systemClock as clock } from '../resources/ambient/system-clock.ts';
import { systemIds as ids } from '../resources/ambient/system-ids.ts';

const [folder = ''] = process.argv.slice(2);
await using store = await SqliteStore.open({ path: join(folder, 'state.db'), ids });
const pki = await openPki(join(folder, 'pki'), ['127.0.0.1'], clock, ids);
const { token, hash } = pki.operator(undefined);
await using server = await startApiServer({
  store,
  operatorTokenHash: hash,
  sealingKeys: pki.sealingKeys(),
  name: 'bench',
  clock,
  ids,
  random: Math.random,
  log: silentLogger,
  platform: { platform: 'linux/amd64', runtime: process.version },
});
const tls = { ...(await pki.serverLeaf()), ca: pki.caCert };
await using listener = await listen({
  host: '127.0.0.1',
  port: 0,
  tls,
  app: server.app,
  upgrade: server.upgrade,
  clock,
});
process.stdout.write(`${JSON.stringify({ port: listener.port, token, ca: pki.caCert })}\n`);
for await (const _ of process.stdin);

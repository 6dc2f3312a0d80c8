/**
 * The API server alone in a process, over the keys in a folder and the store there, or in etcd when an endpoint and a root are given. Prints one line
 * of JSON when it listens, and one for each line it reads: how it is (`stats`), or that delays are counted anew (`reset`). Ends with its stdin.
 */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import type { Store } from '../apiserver/store/store.ts';
import { silentLogger } from '../resources/ambient/log.ts';
import { systemClock as clock } from '../resources/ambient/system-clock.ts';
import { systemIds as ids } from '../resources/ambient/system-ids.ts';

const [folder = '', endpoint, root = ''] = process.argv.slice(2);
// As `coppice apiserver` does: the rest is loaded while the store opens.
const [opened, { startApiServer }, { listen }, { openPki }] = await Promise.all([
  openStore(),
  import('../apiserver/server.ts'),
  import('../apiserver/listen.ts'),
  import('../apiserver/pki/pki-files.ts'),
]);
await using store = opened;
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
const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
say({ port: listener.port, token, ca: pki.caCert });
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'reset') delays.reset();
  const { user, system } = process.cpuUsage();
  say({
    rssBytes: process.memoryUsage.rss(),
    loopDelayP99Ms: delays.percentile(99) / 1e6,
    cpuMs: (user + system) / 1e3,
  });
}

async function openStore(): Promise<Store> {
  if (endpoint === undefined) {
    const { SqliteStore } = await import('../apiserver/store/sqlite/store.ts');
    return SqliteStore.open({ path: join(folder, 'state.db'), ids });
  }
  const { openEtcdStore } = await import('../apiserver/store/etcd/open-store.ts');
  return openEtcdStore({ endpoints: [endpoint], root, clock, ids });
}

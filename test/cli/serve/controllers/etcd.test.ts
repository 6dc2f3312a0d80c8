import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from '../../../../apiserver/client/client.ts';
import { HttpsTransport } from '../../../../apiserver/client/https-transport.ts';
import { connectionOf } from '../../../../cli/kubeconfig/connection.ts';
import { parseKubeconfig } from '../../../../cli/kubeconfig/kubeconfig.ts';
import { DUTY_NAMES } from '../../../../controllers/duties.ts';
import { CoordinationLease } from '../../../../resources/kinds/coordination-lease.ts';
import { Tenant } from '../../../../resources/kinds/tenant.ts';
import { ControllersProcess, soon } from '../../../harness/controllers-world.ts';
import { EtcdServer, needEtcd } from '../../../harness/etcd-server.ts';
import { CliFolder } from '../../../harness/run-cli.ts';
import { UpProcess } from '../../up/up-process.ts';

async function connectionIn(path: string) {
  const config = parseKubeconfig(path, readFileSync(path, 'utf8'));
  return (await connectionOf({ ...config, files: [path] }, undefined)).connection;
}

describe('two coppice up and two coppice controllers over one etcd', function () {
  this.timeout(300_000);
  before(function () {
    needEtcd(this);
  });

  it('lead each duty once, and go on when those that lead most are killed', async () => {
    await using held = new AsyncDisposableStack();
    const etcd = held.use(await EtcdServer.start());
    const folder = held.use(await CliFolder.make());
    const pki = join(folder.path, 'pki');
    const ups: { readonly up: UpProcess; readonly url: string; readonly home: string }[] = [];
    for (const name of ['a', 'b']) {
      const home = join(folder.path, name);
      const args = ['--driver', 'sim', '--hosts', '1', '--port', '0', '--no-quickstart', '--pki', pki];
      const up = held.use(new UpProcess(home, [...args, '--etcd', etcd.endpoint]));
      const [, url = ''] = await up.says(/on (https:\/\/\S+?),/, 60_000);
      await up.says(/up in/, 60_000);
      ups.push({ up, url, home });
    }
    const [a, b] = ups;
    assert.ok(a !== undefined && b !== undefined);
    const kubeconfig = ['--kubeconfig', join(b.home, 'controllers.kubeconfig')];
    const servers = [a, b].flatMap(({ url }) => ['--server', url]);
    const processes = [1, 2].map(() => held.use(new ControllersProcess([...kubeconfig, ...servers], [])));
    for (const process of processes) await process.says(/stands by/);

    const transport = held.use(new HttpsTransport(await connectionIn(join(b.home, 'kubeconfig'))));
    const client = new ApiClient(transport.send);
    const leases = async () =>
      (await client.resource<CoordinationLease>(CoordinationLease, 'coppice-system').list()).items;
    const members = async () =>
      (await leases()).flatMap(({ metadata }) => (metadata.name.startsWith('controllers-') ? [metadata.name] : []));
    const holders = async () =>
      (await leases()).flatMap(({ metadata, spec }) =>
        metadata.name.startsWith('duty-') ? [spec?.holderIdentity ?? ''] : [],
      );
    const led = async (count: number) => {
      const [there, named] = [await members(), await holders()];
      return (
        there.length === count && named.length === DUTY_NAMES.length && named.every((name) => there.includes(name))
      );
    };
    await soon('four stand by each other', () => led(4));

    await a.up.end('SIGKILL');
    await soon('three go on', () => led(3));
    await client
      .resource<Tenant>(Tenant)
      .create({ apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'red' }, spec: {} });
    const networked = async () => (await client.resource<Tenant>(Tenant).get('red')).status?.networkIndex !== undefined;
    await soon('a duty is at work', networked);
    for (const process of processes) {
      process.signal('SIGTERM');
      assert.equal(await process.ended(), 0);
    }
    await soon('the one that is left leads all', () => led(1));
  });
});

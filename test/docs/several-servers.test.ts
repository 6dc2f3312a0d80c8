import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { freePort, needEtcd } from '../harness/etcd-server.ts';
import { runPage } from './run-page.ts';

describe('the page about several servers', function () {
  this.timeout(400_000);

  before(function () {
    needEtcd(this);
    for (const program of ['etcdctl', 'openssl']) {
      if (spawnSync(program, ['version']).status === 0) continue;
      process.stderr.write(`skipped: the page about several servers needs ${program}\n`);
      this.skip();
    }
  });

  it('tells what works', async () => {
    const [client, peers] = [await freePort(), await freePort()];
    const env = { ETCD: `127.0.0.1:${client}`, PEERS: `127.0.0.1:${peers}` };
    const results = await runPage('docs/several-servers.md', { env, deadlineMs: 380_000 });
    const said = (command: string) => results.find((result) => result.command.includes(command))?.output ?? '';
    assert.doesNotMatch(said('--name one'), /Warning/);
    assert.match(said('--name one'), /API server one on https:.*, state in etcd at /);
    if (results.every(({ ran }) => ran)) {
      assert.match(said('-l coppice.dev/component=apiserver'), /apiserver-one .*\n.*apiserver-two /);
      assert.equal(said('coppice exec --kubeconfig'), 'Linux\n');
      assert.match(said('until coppice exec'), /Linux\n$/);
      assert.match(said('vm/later'), /later condition met/);
      assert.match(said('create namespace after'), /namespace\/after created/);
    }
  });
});

import assert from 'node:assert/strict';
import { EtcdServer, needEtcd } from '../harness/etcd-server.ts';
import { runPage } from './run-page.ts';

const DEADLINE_MS = 240_000;

describe('pages about the data of a fleet', function () {
  this.timeout(DEADLINE_MS + 10_000);

  it('docs/backup.md does what it says', async () => {
    const results = await runPage('docs/backup.md', { deadlineMs: DEADLINE_MS });
    const said = results.map(({ output }) => output).join('');
    assert.match(said, /^backed up \d+ keys/m);
    assert.match(said, /fleet\.backup is whole/);
    assert.match(said, /^restored \d+ keys/m);
    assert.match(said, /^host\.coppice\.dev\/mac-2 trusts \S+@\d+$/m);
  });

  it('docs/migrate-store.md does what it says', async function () {
    needEtcd(this);
    await using etcd = await EtcdServer.start();
    const results = await runPage('docs/migrate-store.md', { env: { ETCD: etcd.endpoint }, deadlineMs: DEADLINE_MS });
    const said = results.map(({ output }) => output).join('');
    assert.match(said, /^moved \d+ objects and records of store \S+ from \S+ to etcd/m);
    assert.match(said, /can be served from again/);
  });
});

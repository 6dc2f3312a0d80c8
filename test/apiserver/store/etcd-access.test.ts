import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConnectionPool } from 'etcd3/lib/connection-pool.js';
import { AuthClient, KVClient } from 'etcd3/lib/rpc.js';
import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { hurried } from '../../harness/hurried-clock.ts';
import { testCertificate } from '../../harness/test-authority.ts';
import { EtcdHome } from './etcd-home.ts';
import { entryLine, rejectsWith, watched, write } from './store-maker.ts';

const USER = { username: 'coppice', password: 'secret of the tests' };

describe('the way to etcd', () => {
  before(function () {
    needEtcd(this);
  });

  it('is as a user who may only touch the root, and stays open over a restart that forgets its tokens', async () => {
    await using etcd = await EtcdServer.start();
    await using home = new EtcdHome(etcd, 'ours');
    await demandPasswords(etcd, 'ours/');
    await rejectsWith('Unavailable', home.open({ auth: { ...USER, password: 'wrong' } }));
    await rejectsWith('Unavailable', home.open());
    await rejectsWith('Unavailable', new EtcdHome(etcd, 'theirs').open({ auth: USER }));
    const store = await home.open({ auth: USER });
    assert.equal(await write(store, { put: { a: '1' } }), 1);
    await etcd.stop();
    await etcd.start();
    const following = watched(store, 1, 20);
    await Promise.all(Array.from({ length: 20 }, (_, i) => write(store, { put: { [`b${i}`]: '1' } })));
    assert.equal((await following).length, 20);
    assert.equal((await store.range({ prefix: '' })).entries.length, 21);
  });

  it('is TLS with a certificate of ours, and closed to who has none or trusts another', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coppice-etcd-tls-'));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const { ca, cert, key } = await testCertificate();
    const stranger = await testCertificate();
    const file = async (name: string, text: string) => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };
    const tls = { cert: await file('cert.pem', cert), key: await file('key.pem', key) };
    const etcd = stack.use(await EtcdServer.start({ tls: { ...tls, clientCa: await file('ca.pem', ca) } }));
    const home = stack.use(new EtcdHome(etcd));
    const named = { endpoints: [etcd.endpoint.replace('127.0.0.1', 'localhost')] };
    const store = await home.open({ ...named, tls: { ca, cert, key } });
    assert.equal(await write(store, { put: { a: '1' } }), 1);
    assert.deepEqual(await watched(store, 0, 1), ['1: +a=1']);
    const bare = { endpoints: named.endpoints.map((url) => url.replace('https://', '')) };
    assert.equal((await home.open({ ...bare, tls: { ca, cert, key } })).uid, store.uid);
    const refused = [{ ca }, { ca: stranger.ca, cert, key }, { ca, cert: stranger.cert, key: stranger.key }];
    await Promise.all(
      refused.map((strange) => rejectsWith('Unavailable', home.open({ ...named, tls: strange, clock: hurried(20) }))),
    );
  });

  it('goes to another member when one does not answer', async () => {
    await using etcd = await EtcdServer.start();
    await using home = new EtcdHome(etcd);
    const gone = 'http://127.0.0.1:1';
    const store = await home.open({ endpoints: [gone, gone, etcd.endpoint] });
    assert.equal(await write(store, { put: { a: '1' } }), 1);
    await etcd.stop();
    await etcd.start();
    assert.equal(await write(store, { put: { a: '2' } }), 2);
    assert.deepEqual(await watched(store, 0, 2), ['1: +a=1', '2: a=2']);
    await assert.rejects(home.open({ endpoints: [] }), TypeError);
  });
});

describe('what etcd holds', () => {
  let etcd: EtcdServer;

  before(async function () {
    needEtcd(this);
    etcd = await EtcdServer.start();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  it('is one store for all who open it at once', async () => {
    await using home = new EtcdHome(etcd);
    const stores = await Promise.all(Array.from({ length: 6 }, () => home.open()));
    assert.equal(new Set(stores.map(({ uid }) => uid)).size, 1);
    assert.deepEqual(new Set(stores.map((store) => store.revision())), new Set([0]));
    const [first, second] = stores;
    assert.ok(first && second);
    await Promise.all(stores.map((store, i) => write(store, { put: { [`k${i}`]: '1' } })));
    assert.deepEqual(await watched(first, 0, 6), await watched(second, 0, 6));
  });

  it('is told at once by `latest`, whoever wrote it, and seen by ranges and watches from there', async () => {
    await using home = new EtcdHome(etcd);
    const [writer, reader] = [await home.open(), await home.open()];
    for (let i = 1; i <= 20; i++) {
      assert.equal(await write(writer, { put: { a: `${i}` } }), i);
      const [latest, again, range] = await Promise.all([
        reader.latest(),
        reader.latest(),
        reader.range({ prefix: '' }),
      ]);
      assert.deepEqual([latest, again, range.revision], [i, i, i]);
      assert.deepEqual(range.entries.map(entryLine), [`a=${i}@${i}/1`]);
      assert.equal(reader.revision(), i);
    }
    assert.equal(await write(writer, { put: { a: '21' } }), 21);
    assert.deepEqual(await watched(reader, 20, 1), ['21: a=21']);
    await rejectsWith('Future', watched(reader, 22, 1));
  });

  it('may stand beside what others keep there: revisions go on with gaps', async () => {
    await using ours = new EtcdHome(etcd);
    await using theirs = new EtcdHome(etcd);
    const [store, other] = [await ours.open(), await theirs.open()];
    const first = await write(store, { put: { a: '1' } });
    for (let i = 0; i < 5; i++) await write(other, { put: { b: '1' } });
    const latest = await store.latest();
    assert.ok(latest >= first + 5, `${latest}`);
    const { entries, revision } = await store.range({ prefix: '' });
    assert.deepEqual(entries.map(entryLine), [`a=1@${first}/${first}`]);
    assert.ok(revision >= latest && store.revision() >= revision);
    await write(other, { put: { b: '2' } });
    const again = await ours.open();
    const seen: string[] = [];
    const second = await write(store, { put: { a: '2' } });
    for await (const batch of again.watch(0, AbortSignal.timeout(10_000))) {
      seen.push(...batch.events.map(({ key }) => key));
      if (batch.revision >= second) break;
    }
    assert.deepEqual(seen, ['a', 'a']);
  });

  it('is refused when it is newer, not an identity, or not a store at all', async () => {
    const pool = new ConnectionPool({ hosts: etcd.endpoint });
    const kv = new KVClient(pool);
    const put = (key: string, value: string) => kv.put({ key: Buffer.from(key), value: Buffer.from(value) });
    await put('newer/meta', JSON.stringify({ schema: 5, uid: 'u' }));
    await put('odd/meta', 'odd');
    await put('foreign/something', 'else');
    const refusal = (root: string) => rejectsWith('Unreadable', new EtcdHome(etcd, root).open());
    assert.match((await refusal('newer')).message, /schema 5.*knows 4/);
    await refusal('odd');
    await refusal('foreign');
    // Beside it is not under it.
    await using home = new EtcdHome(etcd, 'foreig');
    assert.equal((await home.open()).revision(), 0);
    pool.close();
  });

  it('is lost to a store whose identity is taken away under it', async () => {
    await using home = new EtcdHome(etcd);
    const store = await home.open();
    const pool = new ConnectionPool({ hosts: etcd.endpoint });
    await new KVClient(pool).deleteRange({ key: Buffer.from(`${home.root}/meta`) });
    pool.close();
    assert.equal((await store.lost).reason, 'Unreadable');
    await rejectsWith('Closed', store.get('a'));
  });
});

/** From now on only root and USER get in, the latter to keys with the prefix. */
async function demandPasswords(etcd: EtcdServer, prefix: string): Promise<void> {
  const pool = new ConnectionPool({ hosts: etcd.endpoint });
  const auth = new AuthClient(pool);
  const [key, range_end] = [Buffer.from(prefix), Buffer.from(`${prefix.slice(0, -1)}0`)];
  await auth.userAdd({ name: 'root', password: 'root' });
  await auth.roleAdd({ name: 'root' });
  await auth.userGrantRole({ user: 'root', role: 'root' });
  await auth.userAdd({ name: USER.username, password: USER.password });
  await auth.roleAdd({ name: 'coppice' });
  await auth.roleGrantPermission({ name: 'coppice', perm: { permType: 'Readwrite', key, range_end } });
  await auth.userGrantRole({ user: USER.username, role: 'coppice' });
  await auth.authEnable();
  pool.close();
}

import assert from 'node:assert/strict';
import { existingIdentity } from '../../../apiserver/store/etcd/identity.ts';
import { markEtcdMoved } from '../../../apiserver/store/etcd/moved.ts';
import { openEtcdStoreAs } from '../../../apiserver/store/etcd/open-store.ts';
import type { EtcdStore, EtcdStoreOptions } from '../../../apiserver/store/etcd/store.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { CutProxy } from '../../harness/cut-proxy.ts';
import { etcdForEach } from '../../harness/etcd-for-each.ts';
import type { EtcdServer } from '../../harness/etcd-server.ts';
import { until } from '../../harness/until.ts';
import { EtcdHome } from './etcd-home.ts';
import { RawRoot } from './raw-root.ts';
import { rejectsWith, txn, write } from './store-maker.ts';

const READS = 50;
const ROUNDS = 12;
/** Looks of a member, so that there is no doubt that it has had the time. */
const LOOKS = 5;
const grouped = { room: 64 } as const;
const mark = { to: 'elsewhere', at: '2026-01-01T00:00:00Z' };

/** A clock that stands still: whoever waits by it for time to go by waits for ever. */
const halted: Clock = { ...systemClock, monotonic: () => 0 };

describe('the sole right to a store in etcd', () => {
  let etcd: EtcdServer;
  etcdForEach((started) => {
    etcd = started;
  });

  const isSole = (store: EtcdStore) => until('it is alone', () => store.present() !== undefined);

  /** Somebody alone on a store. */
  async function alone(home: EtcdHome, options: Partial<EtcdStoreOptions> = {}): Promise<EtcdStore> {
    const store = await home.open({ ...grouped, ...options });
    await isSole(store);
    return store;
  }

  it('lets who is alone read without asking', async () => {
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    const store = await alone(home);
    const revision = await write(store, { put: { a: '1' } });
    const before = await raw.calls('Range');
    for (let i = 0; i < READS; i++) assert.ok((await store.latest()) >= revision);
    assert.equal(store.present(), store.revision());
    assert.ok((await raw.calls('Range')) - before < READS / 2);
  });

  it('is kept by looks that add nothing to the history of etcd', async () => {
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    const store = await alone(home);
    const [revision, looks] = [await raw.revision(), await raw.calls('Txn')];
    await until('it looked', async () => (await raw.calls('Txn')) >= looks + LOOKS);
    await until('it kept its lease', async () => (await raw.calls('LeaseKeepAlive')) > 1);
    assert.equal(await raw.revision(), revision);
    assert.notEqual(store.present(), undefined);
  });

  it('is given up at once to who comes, and is back when that one has gone', async () => {
    await using home = new EtcdHome(etcd);
    await using others = new EtcdHome(etcd, home.root);
    const store = await alone(home);
    // It does not get in by waiting.
    const other = await others.open({ ...grouped, clock: halted });
    assert.equal(store.present(), undefined);
    const written = await write(other, { put: { a: '1' } });
    assert.ok((await store.latest()) >= written);
    await others.close();
    await isSole(store);
  });

  it('is gone in etcd, and its lease with it, when its store is closed', async () => {
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    await alone(home);
    assert.deepEqual([(await raw.keys('members/')).size, (await raw.keys('sole')).size], [1, 1]);
    await home.close();
    assert.deepEqual([(await raw.keys('members/')).size, (await raw.keys('sole')).size], [0, 0]);
  });

  it('shows every write of who comes to who was alone, from the first one on', async function () {
    this.timeout(60_000);
    await using home = new EtcdHome(etcd);
    await using others = new EtcdHome(etcd, home.root);
    const store = await alone(home);
    let known = 0;
    let reads = 0;
    const isOver = new AbortController();
    const reading = (async () => {
      while (!isOver.signal.aborted) {
        const least = known;
        const latest = store.present() ?? (await store.latest());
        assert.ok(latest >= least, `read ${reads}: ${latest} is older than ${least}`);
        reads += 1;
        await new Promise(setImmediate);
      }
    })();
    for (let round = 0; round < ROUNDS; round++) {
      const other = await others.open(grouped);
      for (let i = 0; i < 20; i++) known = await write(other, { put: { [`k${i % 3}`]: `${round}` } });
      await others.close();
      await isSole(store);
    }
    isOver.abort();
    await reading;
    assert.ok(reads > ROUNDS);
  });

  it('ends by the clock of who is cut off, before anybody else gets in', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using home = new EtcdHome(etcd);
    await using others = new EtcdHome(etcd, home.root);
    const store = await alone(home, { endpoints: [`127.0.0.1:${proxy.port}`] });
    proxy.holdAnswers();
    const other = await others.open(grouped);
    const written = await write(other, { put: { a: '1' } });
    assert.equal(store.present(), undefined);
    proxy.cut();
    assert.ok((await store.latest()) >= written);
  });

  it('ends while etcd is halted, so that reads ask again', async () => {
    await using home = new EtcdHome(etcd);
    const store = await alone(home);
    etcd.pause();
    await until('it has lapsed', () => store.present() === undefined);
    let isAnswered = false;
    const latest = store.latest().finally(() => {
      isAnswered = true;
    });
    await new Promise(setImmediate);
    assert.equal(isAnswered, false);
    etcd.resume();
    assert.ok((await latest) >= 0);
    await isSole(store);
  });

  it('is given up by a look where the watch does not tell who came', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using home = new EtcdHome(etcd);
    await using others = new EtcdHome(etcd, home.root);
    const store = await alone(home, { endpoints: [`127.0.0.1:${proxy.port}`] });
    proxy.holdLastAnswers();
    const other = await others.open({ ...grouped, clock: halted });
    await write(other, { put: { a: '1' } });
    assert.equal(store.present(), undefined);
  });

  it('covers nothing that a refused write told of and the watch has not', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using home = new EtcdHome(etcd);
    const store = await alone(home, { endpoints: [`127.0.0.1:${proxy.port}`] });
    proxy.holdLastAnswers();
    const writing = store.txn(txn({ put: { a: '1' } })).done;
    const refused = await store.txn(txn({ if: { a: 0 }, put: { a: '2' } })).done;
    assert.ok(!refused.ok);
    const found = refused.found.get('a') ?? 0;
    assert.ok(found > store.revision());
    assert.equal(store.present(), undefined);
    proxy.cut();
    assert.ok((await store.latest()) >= found);
    assert.equal((await writing).ok, true);
    await isSole(store);
  });

  it('is not taken by who sees nobody else, and is not alone any more when it takes it', async () => {
    for (const id of ['a', 'z']) {
      await using home = new EtcdHome(etcd);
      using raw = new RawRoot(home);
      const named = (suffix: string) => ({ ...grouped, ids: { ...systemIds, suffix: () => suffix } });
      let revision = 0;
      // It is asked for between the two.
      const holderMark = async () => {
        if (revision === 0) await home.open(named(id));
        revision = await raw.revision();
        return undefined;
      };
      await home.open({ ...named('m'), holderMark });
      await until('another came between', () => revision > 0);
      const looks = await raw.calls('Txn');
      await until('it looked', async () => (await raw.calls('Txn')) > looks + LOOKS);
      assert.equal(await raw.revision(), revision);
    }
  });

  it('sends what a process writes whose key is gone only once it is a member again', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    const store = await alone(home, { endpoints: [`127.0.0.1:${proxy.port}`] });
    // It does not hear of it by the watch.
    proxy.holdLastAnswers();
    const [id = ''] = (await raw.keys('members/')).keys();
    await raw.remove(`members/${id}`);
    const writing = write(store, { put: { a: '1' } });
    await until('it is written', async () => (await raw.keys('data/')).size === 1);
    const [member, entry] = [(await raw.keys('members/')).get(id), (await raw.keys('data/')).get('a')];
    assert.ok(member !== undefined && entry !== undefined);
    assert.ok(member.createRevision < entry.modRevision, `${entry.modRevision} is older than ${member.createRevision}`);
    proxy.cut();
    await writing;
    await isSole(store);
  });

  it('keeps from a process whose key is gone what others do, until it is a member again', async () => {
    await using home = new EtcdHome(etcd);
    await using others = new EtcdHome(etcd, home.root);
    using raw = new RawRoot(home);
    const other = await others.open(grouped);
    const [theirs] = (await raw.keys('members/')).keys();
    const store = await home.open({ ...grouped, clock: halted });
    const ours = [...(await raw.keys('members/')).keys()].find((id) => id !== theirs);
    // Somebody has the right and does not give it up.
    await raw.put('sole', JSON.stringify({ holder: 'somebody' }));
    await raw.remove(`members/${ours}`);
    const written = await write(other, { put: { a: '1' } });
    const polls = await raw.calls('Txn');
    await until('it asks whether it may', async () => (await raw.calls('Txn')) > polls + LOOKS * 4);
    assert.ok(store.revision() < written);
    let isRead = false;
    const [latest, entry] = [store.latest(), store.get('a')].map((promise) =>
      promise.finally(() => {
        isRead = true;
      }),
    );
    const more = await raw.calls('Txn');
    await until('it asks again', async () => (await raw.calls('Txn')) > more + LOOKS * 4);
    assert.equal(isRead, false);
    await raw.remove('sole');
    assert.ok(Number(await latest) >= written);
    assert.notEqual(await entry, undefined);
  });

  it('loses a process whose key is gone together with the store', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    const store = await alone(home, { endpoints: [`127.0.0.1:${proxy.port}`] });
    // What it hears of first is that its write is refused.
    proxy.holdLastAnswers();
    const [id] = (await raw.keys('members/')).keys();
    const [meta] = (await raw.keys('meta')).values();
    await raw.remove(`members/${id}`, 'meta');
    await raw.put('meta', meta?.value ?? '');
    await rejectsWith('Unreadable', store.txn(txn({ put: { a: '1' } })).done);
    assert.equal(store.present(), undefined);
    assert.equal((await raw.keys('data/')).size, 0);
    proxy.cut();
    assert.equal((await store.lost).reason, 'Unreadable');
  });

  it('is given up before a store says that it was moved', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    const store = await alone(home, { endpoints: [`127.0.0.1:${proxy.port}`] });
    proxy.holdLastAnswers();
    const options = { endpoints: etcd.endpoints, root: home.root, clock: systemClock, ids: systemIds };
    await markEtcdMoved(options, store.uid, mark);
    assert.equal(store.present(), undefined);
    assert.equal((await raw.keys('members/')).size, 1);
    proxy.cut();
    assert.equal((await store.lost).reason, 'Unreadable');
  });

  it('is not touched by who only reads, who can write nothing', async () => {
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    const store = await alone(home);
    const written = await write(store, { put: { a: '1' } });
    const { endpoints } = etcd;
    const options = { endpoints, root: home.root, clock: systemClock, ids: systemIds };
    await using reader = await openEtcdStoreAs(
      options,
      (connection, layout) => existingIdentity(connection, layout, false),
      'read',
    );
    assert.ok((await reader.latest()) >= written);
    assert.equal((await raw.keys('members/')).size, 1);
    assert.notEqual(store.present(), undefined);
    assert.throws(() => reader.txn(txn({ put: { a: '2' } })), TypeError);
  });

  it('is for nobody in a store that older versions share', async () => {
    for (const record of [undefined, { schema: 3, uid: 'u', room: 64 }]) {
      await using home = new EtcdHome(etcd);
      using raw = new RawRoot(home);
      if (record !== undefined) await raw.put('meta', JSON.stringify(record));
      const store = await home.open(record === undefined ? {} : grouped);
      await write(store, { put: { a: '1' } });
      assert.deepEqual([(await raw.keys('members/')).size, store.present()], [0, undefined]);
    }
  });

  it('tells older versions that they cannot share a store that is made now', async () => {
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    await alone(home);
    const [meta] = (await raw.keys('meta')).values();
    assert.equal(JSON.parse(meta?.value ?? '').schema, 4);
    await rejectsWith('Closed', closedRead(home));
  });

  /** What a read is told after the store was closed. */
  async function closedRead(home: EtcdHome): Promise<number> {
    const store = await home.open(grouped);
    await home.close();
    assert.equal(store.present(), undefined);
    return store.latest();
  }
});

import assert from 'node:assert/strict';
import { type Batch, type Store, StoreError } from '../../../apiserver/store/store.ts';
import { CutProxy } from '../../harness/cut-proxy.ts';
import { etcdForEach } from '../../harness/etcd-for-each.ts';
import type { EtcdServer } from '../../harness/etcd-server.ts';
import { hurried } from '../../harness/hurried-clock.ts';
import { until } from '../../harness/until.ts';
import { EtcdHome } from './etcd-home.ts';
import { batchLine, entryLine, rejectsWith, txn, watchEnd, watched, write } from './store-maker.ts';

describe('the etcd store over outages', () => {
  let etcd: EtcdServer;
  etcdForEach((started) => {
    etcd = started;
  });

  it('goes on with a watch after a restart of etcd, nothing missed and nothing twice', async () => {
    await using home = new EtcdHome(etcd);
    const store = await home.open();
    const { seen, stop } = follow(store, 0);
    for (let i = 1; i <= 3; i++) await write(store, { put: { a: `${i}` } });
    await etcd.stop();
    await etcd.start();
    for (let i = 4; i <= 6; i++) await write(store, { put: { a: `${i}` } });
    await until('the watch has them', () => seen.length >= 6);
    assert.deepEqual(seen.map(batchLine), ['1: +a=1', '2: a=2', '3: a=3', '4: a=4', '5: a=5', '6: a=6']);
    await stop();
  });

  it('catches up on what others wrote while it was cut off', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using near = new EtcdHome(etcd);
    await using far = new EtcdHome(etcd, near.root);
    const writer = await near.open();
    const store = await far.open({ endpoints: [`127.0.0.1:${proxy.port}`] });
    const { seen, stop } = follow(store, 0);
    await write(writer, { put: { a: '1' } });
    await until('the first is seen', () => seen.length === 1);
    proxy.holdAnswers();
    for (let i = 2; i <= 40; i++) await write(writer, { put: { a: `${i}`, [`b${i}`]: '1' }, delete: [`b${i - 1}`] });
    assert.equal(store.revision(), 1);
    proxy.cut();
    assert.equal(await store.latest(), 40);
    assert.equal(store.revision(), 40);
    await until('the watch has them', () => seen.length >= 40);
    assert.deepEqual(seen.map(batchLine), await watched(writer, 0, 40));
    await stop();
  });

  it('keeps every acknowledged write over kill -9, and says of others that it does not know', async () => {
    await using home = new EtcdHome(etcd);
    const store = await home.open();
    const writing = Array.from({ length: 8 }, (_, writer) => writeUntilItFails(store, `w${writer}`));
    await until('much is written', () => store.revision() > 200);
    await etcd.kill();
    const ends = await Promise.all(writing);
    await etcd.start();
    // On a busy machine it was away for long enough to be an outage, which is looked after once a second.
    await until('it is seen to be back', () => store.outage() === undefined);
    await using again = new EtcdHome(etcd, home.root);
    for (const opened of [store, await again.open()]) {
      for (const [writer, { acknowledged, error }] of ends.entries()) {
        assert.match(error.reason, /^(UnknownOutcome|Unavailable)$/);
        const there = Number((await opened.get(`w${writer}`))?.modRevision ?? 0);
        const next = error.reason === 'UnknownOutcome' && there > acknowledged;
        assert.ok(next || there === acknowledged, `writer ${writer}: ${acknowledged} acknowledged, ${there} there`);
      }
    }
    assert.ok((await write(store, { put: { after: '1' } })) > 200);
  });

  it('ends a write whose answer is lost as unknown, and does not send it again', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using near = new EtcdHome(etcd);
    await using far = new EtcdHome(etcd, near.root);
    const other = await near.open();
    const store = await far.open({ endpoints: [`127.0.0.1:${proxy.port}`] });
    await write(store, { put: { a: '1' } });
    proxy.holdAnswers();
    const lost = rejectsWith('UnknownOutcome', store.txn(txn({ put: { a: '2' } })).done);
    await until('it is written', async () => (await other.get('a'))?.modRevision === 2);
    proxy.cut();
    await lost;
    assert.equal(await write(store, { put: { b: '1' } }), 3);
    assert.deepEqual(await watched(store, 0, 3), ['1: +a=1', '2: a=2', '3: +b=1']);
  });

  it('says of a write that reached nobody that it was not done, and answers reads once etcd is back', async () => {
    await using home = new EtcdHome(etcd);
    const hasty = await home.open({ clock: hurried(20) });
    const store = await home.open();
    await write(store, { put: { a: '1' } });
    await etcd.stop();
    await rejectsWith('Unavailable', hasty.txn(txn({ put: { a: '2' } })).done);
    await rejectsWith('Unavailable', hasty.get('a'));
    const reading = store.get('a');
    const ranging = store.range({ prefix: '' });
    const writing = write(store, { put: { b: '1' } });
    await etcd.start();
    const entry = await reading;
    assert.equal(entry && entryLine(entry), 'a=1@1/1');
    assert.equal((await ranging).entries[0]?.key, 'a');
    assert.equal(await writing, 2);
  });

  it('gives up on an etcd that hangs, and ends what is under way when it is closed', async () => {
    await using home = new EtcdHome(etcd);
    const hasty = await home.open({ clock: hurried(20) });
    const store = await home.open();
    await write(hasty, { put: { a: '1' } });
    etcd.pause();
    await Promise.all([
      rejectsWith('UnknownOutcome', hasty.txn(txn({ put: { a: '2' } })).done),
      rejectsWith('Unavailable', hasty.get('a')),
      rejectsWith('Unavailable', hasty.latest()),
    ]);
    const reading = Promise.all([
      rejectsWith('Closed', store.get('a')),
      rejectsWith('Closed', store.range({ prefix: '' })),
    ]);
    await store[Symbol.asyncDispose]();
    await reading;
    etcd.resume();
    assert.ok((await write(hasty, { put: { b: '1' } })) >= 2);
  });

  it('ends watches with Compacted when history was compacted away meanwhile, and goes on from the present', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using near = new EtcdHome(etcd);
    await using far = new EtcdHome(etcd, near.root);
    const writer = await near.open();
    const store = await far.open({ endpoints: [`127.0.0.1:${proxy.port}`] });
    await write(writer, { put: { a: '1' } });
    assert.equal(await store.latest(), 1);
    const ended = watchEnd(store, 1, 'Compacted');
    proxy.holdAnswers();
    for (let i = 2; i <= 5; i++) await write(writer, { put: { a: `${i}` } });
    await writer.compact(4);
    proxy.cut();
    await ended;
    await until('it is at the present', () => store.revision() === 5);
    await watchEnd(store, 1, 'Compacted');
    const following = watched(store, 4, 2);
    await write(store, { put: { a: '6' } });
    assert.deepEqual(await following, ['5: a=5', '6: a=6']);
  });

  it('is not fooled by a deletion that compaction swallowed at its own revision', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using near = new EtcdHome(etcd);
    await using far = new EtcdHome(etcd, near.root);
    const writer = await near.open();
    const store = await far.open({ endpoints: [`127.0.0.1:${proxy.port}`] });
    await write(writer, { put: { a: '1' } });
    assert.equal(await store.latest(), 1);
    const ended = watchEnd(store, 1, 'Compacted');
    proxy.holdAnswers();
    await write(writer, { delete: ['a'] });
    await writer.compact(2);
    proxy.cut();
    await ended;
  });

  it('is lost when its data is gone, or is that of another store', async () => {
    await using home = new EtcdHome(etcd);
    const store = await home.open();
    await write(store, { put: { a: '1' } });
    const watching = watchEnd(store, 1, 'Closed');
    await etcd[Symbol.asyncDispose]();
    await etcd.start();
    assert.equal((await store.lost).reason, 'Unreadable');
    await watching;
    assert.throws(() => store.txn(txn({ put: { a: '2' } })), { reason: 'Closed' });
  });
});

function follow(store: Store, from: number): { readonly seen: Batch[]; stop(): Promise<void> } {
  const ending = new AbortController();
  const seen: Batch[] = [];
  const following = (async () => {
    for await (const batch of store.watch(from, ending.signal)) seen.push(batch);
  })();
  const stop = () => {
    ending.abort();
    return following;
  };
  return { seen, stop };
}

async function writeUntilItFails(store: Store, key: string): Promise<{ acknowledged: number; error: StoreError }> {
  for (let acknowledged = 0; ; ) {
    try {
      acknowledged = await write(store, { put: { [key]: `${acknowledged}` } });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return { acknowledged, error };
    }
  }
}

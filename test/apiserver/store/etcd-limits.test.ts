import assert from 'node:assert/strict';
import { ConnectionPool } from 'etcd3/lib/connection-pool.js';
import { KVClient, MaintenanceClient } from 'etcd3/lib/rpc.js';
import { STORE_LIMITS, type Store, StoreError } from '../../../apiserver/store/store.ts';
import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { EtcdHome } from './etcd-home.ts';
import { batchLine, rejectsWith, txn, watched, write } from './store-maker.ts';

const MIB = 1 << 20;

describe('the etcd store at its limits', () => {
  before(function () {
    needEtcd(this);
  });

  it('refuses writes for want of space, does not do them, reads on, and writes again once there is room', async () => {
    await using etcd = await EtcdServer.start({ quotaBytes: 16 * MIB });
    await using home = new EtcdHome(etcd);
    const store = await home.open({ quotaBytes: 16 * MIB });
    const { bytes, limitBytes, refusing } = await store.size();
    assert.deepEqual([bytes < MIB, limitBytes, refusing], [true, 16 * MIB, false]);
    const acknowledged = await fill(store);
    const { message } = await rejectsWith('NoSpace', store.txn(txn({ put: { a: 'more' } })).done);
    assert.match(message, /etcdctl defrag.*etcdctl alarm disarm/);
    const full = await store.size();
    assert.deepEqual([full.bytes > 8 * MIB, full.refusing], [true, true]);
    // On a slow machine the store may have moved its watch meanwhile, with a write of its own.
    const latest = await store.latest();
    assert.equal((await store.get('a'))?.modRevision, acknowledged);
    await store.compact(acknowledged);
    await makeRoom(etcd);
    const again = await write(store, { put: { a: 'again' } });
    assert.ok(again > latest);
    assert.equal((await store.size()).refusing, false);
    assert.deepEqual((await watched(store, acknowledged, again - acknowledged)).at(-1), `${again}: a=again`);
  });

  it('reads more than one answer can hold, and follows as much', async () => {
    await using etcd = await EtcdServer.start();
    await using home = new EtcdHome(etcd);
    const store = await home.open();
    const count = 50;
    const value = new Uint8Array(STORE_LIMITS.valueBytes);
    const puts = Array.from({ length: count }, (_, i) => ({ key: `big/${String(i).padStart(2, '0')}`, value }));
    await Promise.all(puts.map((put) => store.txn({ compares: [], puts: [put], deletes: [] }).done));
    const { entries, remaining } = await store.range({ prefix: 'big/' });
    assert.deepEqual([entries.length, remaining], [count, 0]);
    assert.ok(entries.every((entry) => entry.value.byteLength === value.byteLength));
    assert.equal((await store.range({ prefix: 'big/', limit: 48 })).remaining, 2);
    // Older than what is kept for watchers, so it comes over a stream of its own.
    let revision = 0;
    for await (const batch of store.watch(0, AbortSignal.timeout(15_000))) {
      assert.equal(batch.revision, ++revision);
      if (revision === count) break;
    }
    assert.equal(revision, count);
  });

  for (const room of [1, 64] as const)
    it(`takes a thousand transactions at once, ${room} as one`, async () => {
      await using etcd = await EtcdServer.start();
      await using home = new EtcdHome(etcd);
      const store = await home.open({ room });
      const results = await Promise.all(
        Array.from({ length: 1000 }, (_, i) => store.txn(txn({ if: { [`k${i}`]: 0 }, put: { [`k${i}`]: '1' } })).done),
      );
      const revisions = results.map((result) => (result.ok ? result.revision : 0)).sort((a, b) => a - b);
      assert.equal(new Set(revisions).size, 1000);
      assert.equal(store.revision(), revisions.at(-1));
      if (room === 1) assert.equal(store.revision(), 1000);
      assert.equal((await store.range({ prefix: 'k', limit: 0 })).remaining, 1000);
    });

  it('keeps the events of a transaction in one batch, however etcd cuts its answers', async () => {
    await using etcd = await EtcdServer.start();
    await using home = new EtcdHome(etcd);
    const store = await home.open({ watchBufferBytes: 1 });
    const text = 'x'.repeat(14_000);
    const puts = (round: number) => Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, text + round]));
    for (let round = 1; round <= 4; round++) await write(store, { put: puts(round) });
    const sizes: number[] = [];
    for await (const batch of store.watch(0, AbortSignal.timeout(10_000))) {
      assert.equal(batch.events.length, 100, batchLine(batch).slice(0, 20));
      if (sizes.push(batch.revision) === 4) break;
    }
    assert.deepEqual(sizes, [1, 2, 3, 4]);
  });
});

/** Writes until there is no room, and answers the revision of the last write that was done, whatever was said of it: told to be refused, it was not done. */
async function fill(store: Store): Promise<number> {
  const value = new Uint8Array(MIB);
  for (let last = 0; ; ) {
    const put = { compares: [{ key: 'a', revision: last }], puts: [{ key: 'a', value }], deletes: [] };
    const result = await store.txn(put).done.catch((error: unknown) => error);
    const now = (await store.get('a'))?.modRevision ?? 0;
    if (!(result instanceof StoreError)) {
      last = now;
      continue;
    }
    if (result.reason === 'NoSpace') assert.equal(now, last);
    else assert.equal(result.reason, 'UnknownOutcome');
    return now;
  }
}

/** What an operator does after compaction: gives the room back, and takes the alarm away. */
async function makeRoom(etcd: EtcdServer): Promise<void> {
  const pool = new ConnectionPool({ hosts: etcd.endpoint });
  try {
    const maintenance = new MaintenanceClient(pool);
    await maintenance.defragment();
    const { alarms } = await maintenance.alarm({ action: 'Get' });
    assert.deepEqual(
      alarms.map(({ alarm }) => alarm),
      ['Nospace'],
    );
    for (const { memberID, alarm } of alarms) await maintenance.alarm({ action: 'Deactivate', memberID, alarm });
    await new KVClient(pool).range({ key: Buffer.from('any') });
  } finally {
    pool.close();
  }
}

import assert from 'node:assert/strict';
import { STORE_LIMITS, type Store } from '../../../apiserver/store/store.ts';
import { describeFailures } from './contract-failures.ts';
import { describeHistories } from './contract-histories.ts';
import { describeReads } from './contract-reads.ts';
import { describeWatch } from './contract-watch.ts';
import {
  bytes,
  entryLine,
  rejectsWith,
  reopened,
  type StoreMaker,
  txn,
  watchEnd,
  watched,
  write,
} from './store-maker.ts';

/** The store contract (apiserver/store/store.ts), stated once for every implementation. */
export function describeStore(maker: StoreMaker): void {
  describe(`the ${maker.name} store`, () => {
    describeCounter(maker);
    describeCompares(maker);
    describeReads(maker);
    describeWatch(maker);
    if (maker.stages) describeFailures(maker);
    describeHistories(maker);
    describeEnds(maker);
  });
}

function describeCounter(maker: StoreMaker): void {
  describe('one counter', () => {
    it('starts at 0 with nothing in it', async () => {
      await using home = await maker.open();
      assert.equal(home.store.revision(), 0);
      assert.equal(home.store.compactedRevision(), 0);
      assert.deepEqual(await home.store.range({ prefix: '' }), { entries: [], revision: 0, remaining: 0 });
    });

    it('gives every writing transaction the next revision and all its events carry it', async () => {
      await using home = await maker.open();
      assert.equal(await write(home.store, { put: { a: '1', b: '1' } }), 1);
      assert.equal(await write(home.store, { put: { a: '2' }, delete: ['b'] }), 2);
      assert.equal(home.store.revision(), 2);
      assert.deepEqual(await watched(home.store, 0, 2), ['1: +a=1 +b=1', '2: a=2 -b']);
    });

    it('gives no revision to a transaction that changes nothing', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      assert.equal(await write(home.store, { if: { a: 1 } }), 1);
      assert.equal(await write(home.store, { delete: ['absent'] }), 1);
      assert.equal(await write(home.store, { put: { b: '1' } }), 2);
      assert.deepEqual(await watched(home.store, 0, 2), ['1: +a=1', '2: +b=1']);
    });

    it('says the revision of a staged transaction at once and keeps the word', async () => {
      await using home = await maker.open();
      const submitted = ['a', 'b', 'c'].map((key) => home.store.txn(txn({ put: { [key]: '1' } })));
      const results = await Promise.all(submitted.map(({ done }) => done));
      for (const [i, { staged }] of submitted.entries()) {
        if (staged !== undefined) assert.deepEqual(results[i], { ok: true, revision: staged });
      }
      const given = results.map((result) => (result.ok ? result.revision : 0));
      // Only who stages them keeps transactions in order that have no key in common.
      assert.deepEqual(maker.stages ? given : given.sort(), [1, 2, 3]);
    });
  });
}

function describeCompares(maker: StoreMaker): void {
  describe('compare and set', () => {
    it('writes when every compare holds, revision 0 meaning absent', async () => {
      await using home = await maker.open();
      assert.equal(await write(home.store, { if: { a: 0 }, put: { a: '1' } }), 1);
      assert.equal(await write(home.store, { if: { a: 1, b: 0 }, put: { b: '1' } }), 2);
    });

    it('writes nothing when one compare fails and says what every compared key is at', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      await write(home.store, { put: { b: '1' } });
      const refused = home.store.txn(txn({ if: { a: 1, b: 1, c: 0 }, put: { a: '2', c: '1' }, delete: ['b'] }));
      const found = new Map([
        ['a', 1],
        ['b', 2],
        ['c', 0],
      ]);
      assert.equal(refused.staged, undefined);
      assert.deepEqual(await refused.done, { ok: false, found });
      const { entries, revision } = await home.store.range({ prefix: '' });
      assert.deepEqual([revision, ...entries.map(entryLine)], [2, 'a=1@1/1', 'b=1@2/2']);
    });

    it('judges against transactions still being committed', async () => {
      await using home = await maker.open();
      const results = await Promise.all([
        home.store.txn(txn({ if: { a: 0 }, put: { a: 'first' } })).done,
        home.store.txn(txn({ if: { a: 0 }, put: { a: 'second' } })).done,
        home.store.txn(txn({ if: { a: 1 }, put: { a: 'third' } })).done,
        home.store.txn(txn({ if: { a: 2 }, delete: ['a'] })).done,
        home.store.txn(txn({ if: { a: 0 }, put: { a: 'fifth' } })).done,
      ]);
      assert.deepEqual(results, [
        { ok: true, revision: 1 },
        { ok: false, found: new Map([['a', 1]]) },
        { ok: true, revision: 2 },
        { ok: true, revision: 3 },
        { ok: true, revision: 4 },
      ]);
    });

    it('lets exactly one of many writers win each revision of a key', async () => {
      await using home = await maker.open();
      const increments = 20;
      await Promise.all(['w1', 'w2', 'w3', 'w4'].map((name) => incrementTimes(home.store, name, increments)));
      const counter = await home.store.get('counter');
      assert.equal(counter && entryLine(counter), `counter=${4 * increments}@${4 * increments}/1`);
    });
  });
}

/** Read, compare and write again until it went through, as clients do. */
async function incrementTimes(store: Store, writer: string, times: number): Promise<void> {
  for (let done = 0; done < times; ) {
    const entry = await store.get('counter');
    const count = entry === undefined ? 0 : Number(new TextDecoder().decode(entry.value));
    const request = txn({
      if: { counter: entry?.modRevision ?? 0 },
      put: { counter: String(count + 1), [`by/${writer}`]: String(done) },
    });
    if ((await store.txn(request).done).ok) done += 1;
  }
}

function describeEnds(maker: StoreMaker): void {
  describe('limits and ends', () => {
    it('refuses at once what is too large', async () => {
      await using home = await maker.open();
      const value = new Uint8Array(STORE_LIMITS.valueBytes);
      const tooLarge = { reason: 'TooLarge' };
      const key = (i: number) => `k${i}`;
      const many = Array.from({ length: STORE_LIMITS.txnOperations + 1 }, (_, i) => key(i));
      const put = (size: number) => ({ compares: [], puts: [{ key: 'a', value: new Uint8Array(size) }], deletes: [] });
      assert.throws(() => home.store.txn(put(value.length + 1)), tooLarge);
      const half = { value: value.subarray(0, value.length / 2 + 1) };
      const two = [
        { key: 'a', ...half },
        { key: 'b', ...half },
      ];
      assert.throws(() => home.store.txn({ compares: [], puts: two, deletes: [] }), tooLarge);
      assert.throws(() => home.store.txn({ compares: [], puts: [], deletes: many }), tooLarge);
      const compares = many.map((absent) => ({ key: absent, revision: 0 }));
      assert.throws(() => home.store.txn({ compares, puts: [], deletes: [] }), tooLarge);
      assert.equal(home.store.revision(), 0);
    });

    it('takes what is exactly at the limits and gives it back', async () => {
      await using home = await maker.open();
      const value = new Uint8Array(STORE_LIMITS.valueBytes).map((_, i) => i % 251);
      await home.store.txn({ compares: [], puts: [{ key: 'big', value }], deletes: [] }).done;
      const puts = Array.from({ length: STORE_LIMITS.txnOperations }, (_, i) => ({
        key: `k/${i}`,
        value: bytes(`${i}`),
      }));
      await home.store.txn({ compares: [], puts, deletes: [] }).done;
      assert.deepEqual((await home.store.get('big'))?.value, value);
      assert.equal((await home.store.range({ prefix: 'k/' })).entries.length, puts.length);
      const [, batch] = await watched(home.store, 0, 2);
      assert.equal(batch, `2: ${puts.map(({ key }, i) => `+${key}=${i}`).join(' ')}`);
    });

    it('refuses keys no wire could carry and a key written twice', async () => {
      await using home = await maker.open();
      for (const key of ['', 'näme', 'a\n', 'a\x7f']) {
        assert.throws(() => home.store.txn(txn({ put: { [key]: '1' } })), TypeError);
      }
      assert.throws(() => home.store.txn(txn({ put: { a: '1' }, delete: ['a'] })), TypeError);
    });

    it('commits what it accepted before it closes, and then refuses everything with Closed', async () => {
      const home = await maker.open();
      const accepted = home.store.txn(txn({ put: { a: '1' } })).done;
      const watching = watchEnd(home.store, 0, 'Closed');
      await home.store[Symbol.asyncDispose]();
      assert.deepEqual(await accepted, { ok: true, revision: 1 });
      await watching;
      assert.throws(() => home.store.txn(txn({ put: { b: '1' } })), { reason: 'Closed' });
      await rejectsWith('Closed', home.store.get('a'));
      await rejectsWith('Closed', home.store.range({ prefix: '' }));
      await rejectsWith('Closed', home.store.compact(1));
      await watchEnd(home.store, 1, 'Closed');
      await home.store[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    });

    if (!maker.reopens) return;

    it('keeps identity, revision, state and history across a restart', async () => {
      await using home = await maker.open();
      const { uid } = home.store;
      await write(home.store, { put: { a: '1', b: '1' } });
      await write(home.store, { delete: ['a'] });
      const store = await reopened(home);
      assert.equal(store.uid, uid);
      assert.equal(store.revision(), 2);
      assert.deepEqual((await store.range({ prefix: '', revision: 1 })).entries.map(entryLine), ['a=1@1/1', 'b=1@1/1']);
      assert.deepEqual(await watched(store, 0, 2), ['1: +a=1 +b=1', '2: -a']);
      assert.equal(await write(store, { if: { a: 0, b: 1 }, put: { a: '2' } }), 3);
    });

    it('never goes back below a revision whose last row compaction has deleted', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      await write(home.store, { delete: ['a'] });
      await home.store.compact(2);
      const store = await reopened(home);
      assert.deepEqual([store.revision(), store.compactedRevision()], [2, 2]);
      assert.equal(await write(store, { put: { a: '2' } }), 3);
      assert.deepEqual(await watched(store, 2, 1), ['3: +a=2']);
    });
  });
}

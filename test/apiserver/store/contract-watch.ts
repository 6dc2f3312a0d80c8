import assert from 'node:assert/strict';
import type { Store } from '../../../apiserver/store/store.ts';
import {
  batchLine,
  entryLine,
  rejectsWith,
  reopened,
  type StoreMaker,
  txn,
  watchEnd,
  watched,
  write,
} from './store-maker.ts';

const BIG = 'x'.repeat(1000);

export function describeWatch(maker: StoreMaker): void {
  describe('watch', () => {
    it('starts at 0, at an old revision and at the current one', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      await write(home.store, { put: { a: '2' } });
      const fromCurrent = watched(home.store, 2, 1);
      await write(home.store, { put: { a: '3' } });
      assert.deepEqual(await watched(home.store, 0, 3), ['1: +a=1', '2: a=2', '3: a=3']);
      assert.deepEqual(await watched(home.store, 1, 2), ['2: a=2', '3: a=3']);
      assert.deepEqual(await fromCurrent, ['3: a=3']);
    });

    it('answers Compacted below the compacted revision and Future above the current one', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      await write(home.store, { put: { a: '2' } });
      await home.store.compact(2);
      await watchEnd(home.store, 1, 'Compacted');
      await watchEnd(home.store, 3, 'Future');
      const after = watched(home.store, 2, 1);
      await write(home.store, { put: { a: '3' } });
      assert.deepEqual(await after, ['3: a=3']);
    });

    it('misses no write between a list and the watch from its revision', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      const { entries, revision } = await home.store.range({ prefix: '' });
      assert.deepEqual(entries.map(entryLine), ['a=1@1/1']);
      await write(home.store, { put: { b: '2' } });
      const watching = watched(home.store, revision, 2);
      await write(home.store, { delete: ['a'] });
      assert.deepEqual(await watching, ['2: +b=2', '3: -a']);
    });

    it('tells delete and recreate under one name apart from an update', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      await write(home.store, { delete: ['a'] });
      await write(home.store, { put: { a: '3' } });
      await write(home.store, { put: { a: '4' } });
      assert.deepEqual(await watched(home.store, 0, 4), ['1: +a=1', '2: -a', '3: +a=3', '4: a=4']);
      const entry = await home.store.get('a');
      assert.equal(entry && entryLine(entry), 'a=4@4/3');
    });

    it('gives all watchers the writes of two writers in the same order', async () => {
      await using home = await maker.open();
      const watching = Promise.all([0, 0, 10].map((from) => watchedFromReached(home.store, from, 40 - from)));
      await Promise.all([writeTimes(home.store, 'x', 20), writeTimes(home.store, 'y', 20)]);
      const [first, second, third] = await watching;
      assert.deepEqual(first, second);
      assert.deepEqual(first?.slice(10), third);
      assert.deepEqual(
        first?.map(Number.parseFloat),
        Array.from({ length: 40 }, (_, i) => i + 1),
      );
    });

    it('joins what it reads from the log with live batches, none missed and none repeated', async () => {
      const watchBufferBytes = 20_000;
      await using home = await maker.open({ watchBufferBytes });
      for (let i = 0; i < 100; i++) await write(home.store, { put: { old: `${i}${BIG}` } });
      const total = 400;
      let position = 0;
      const writing = writeTimes(home.store, 'live', total - 100);
      for await (const { revision } of home.store.watch(0, AbortSignal.timeout(10_000))) {
        assert.equal(revision, position + 1);
        position = revision;
        if (position === total) break;
      }
      assert.equal(position, total);
      await writing;
    });

    it('keeps a transaction in one batch however it is read', async () => {
      await using home = await maker.open({ watchBufferBytes: 1 });
      const keys = Array.from({ length: 90 }, (_, i) => `k${i}`);
      for (let i = 0; i < 8; i++)
        await write(home.store, { put: Object.fromEntries(keys.map((key) => [key, `${i}`])) });
      const batches = await watched(home.store, 0, 8);
      const expected = (i: number) => `${i + 1}: ${keys.map((key) => `${i === 0 ? '+' : ''}${key}=${i}`).join(' ')}`;
      assert.deepEqual(
        batches,
        batches.map((_, i) => expected(i)),
      );
    });

    const afterRestart = async () => {
      await using home = await maker.open();
      for (let i = 1; i <= 5; i++) await write(home.store, { put: { a: `${i}` }, delete: [`b${i}`] });
      const store = await reopened(home);
      const watching = watched(store, 3, 3);
      await write(store, { put: { a: '6' } });
      assert.deepEqual(await watching, ['4: a=4', '5: a=5', '6: a=6']);
    };
    if (maker.reopens) it('reads old revisions from the log after a restart', afterRestart);

    it('ends a reader that falls too far behind, and no other', async () => {
      await using home = await maker.open({ watchBufferBytes: 10_000 });
      await write(home.store, { put: { a: '0' } });
      const slow = home.store.watch(0, AbortSignal.timeout(10_000))[Symbol.asyncIterator]();
      const prompt = home.store.watch(0, AbortSignal.timeout(10_000))[Symbol.asyncIterator]();
      assert.equal((await slow.next()).value?.revision, 1);
      assert.equal((await prompt.next()).value?.revision, 1);
      for (let revision = 2; revision <= 30; revision++) {
        await write(home.store, { put: { a: BIG } });
        assert.equal((await prompt.next()).value?.revision, revision);
      }
      const error = await rejectsWith('SlowReader', slow.next());
      assert.match(error.message, /10000 bytes/);
      await prompt.return?.();
    });

    it('lets a reader fall behind by less than the buffer', async () => {
      await using home = await maker.open({ watchBufferBytes: 10_000 });
      await write(home.store, { put: { a: '0' } });
      const late = home.store.watch(0, AbortSignal.timeout(10_000))[Symbol.asyncIterator]();
      assert.equal((await late.next()).value?.revision, 1);
      for (let i = 0; i < 8; i++) await write(home.store, { put: { a: BIG } });
      for (let revision = 2; revision <= 9; revision++) assert.equal((await late.next()).value?.revision, revision);
      await late.return?.();
    });

    it('ends quietly when the signal aborts, while it waits and before it starts', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      const abort = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        for await (const batch of home.store.watch(0, abort.signal)) {
          seen.push(batchLine(batch));
          queueMicrotask(() => abort.abort());
        }
      })();
      await watching;
      assert.deepEqual(seen, ['1: +a=1']);
      for await (const batch of home.store.watch(0, abort.signal)) assert.fail(batchLine(batch));
    });

    it('has published a write when its caller is told', async () => {
      await using home = await maker.open();
      const reader = home.store.watch(0, AbortSignal.timeout(10_000))[Symbol.asyncIterator]();
      const next = reader.next();
      const { done } = home.store.txn(txn({ put: { a: '1' } }));
      const result = await done;
      assert.deepEqual(result, { ok: true, revision: home.store.revision() });
      assert.equal((await next).value?.revision, 1);
      await reader.return?.();
    });
  });
}

async function writeTimes(store: Store, key: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await write(store, { put: { [key]: `${i}${BIG}` } });
}

/** Like `watched`, from a revision that comes only later. */
async function watchedFromReached(store: Store, from: number, count: number): Promise<string[]> {
  if (from > 0) await watched(store, 0, from);
  return watched(store, from, count);
}

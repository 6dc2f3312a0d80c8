import assert from 'node:assert/strict';
import type { RangeQuery, Store } from '../../../apiserver/store/store.ts';
import { entryLine, rejectsWith, type StoreMaker, watchEnd, watched, write } from './store-maker.ts';

/** Range, get and compaction. */
export function describeReads(maker: StoreMaker): void {
  describe('range at a revision', () => {
    it('lists a prefix in byte order and nothing beside it', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { 'b/': '0', 'b/Z': '1', 'b/a': '2', 'b/~': '3', b0: '4', 'a/x': '5', b: '6' } });
      assert.deepEqual(await lines(home.store, { prefix: 'b/' }), ['b/=0@1/1', 'b/Z=1@1/1', 'b/a=2@1/1', 'b/~=3@1/1']);
    });

    it('sees exactly the state at that revision', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1', b: '1' } });
      await write(home.store, { put: { a: '2' }, delete: ['b'] });
      await write(home.store, { put: { b: '3', c: '3' } });
      await write(home.store, { delete: ['a', 'c'] });
      assert.deepEqual(await lines(home.store, { prefix: '', revision: 0 }), []);
      assert.deepEqual(await lines(home.store, { prefix: '', revision: 1 }), ['a=1@1/1', 'b=1@1/1']);
      assert.deepEqual(await lines(home.store, { prefix: '', revision: 2 }), ['a=2@2/1']);
      assert.deepEqual(await lines(home.store, { prefix: '', revision: 3 }), ['a=2@2/1', 'b=3@3/3', 'c=3@3/3']);
      assert.deepEqual(await lines(home.store, { prefix: '' }), ['b=3@3/3']);
    });

    it('pages at one revision while others write, and counts what is left exactly', async () => {
      await using home = await maker.open();
      const names = Array.from({ length: 7 }, (_, i) => `k/${i}`);
      await write(home.store, { put: Object.fromEntries(names.map((name) => [name, 'old'])) });
      const seen: string[] = [];
      const remaining: number[] = [];
      for (let after = ''; ; ) {
        const page = await home.store.range({ prefix: 'k/', after, limit: 3, revision: 1 });
        assert.equal(page.revision, 1);
        seen.push(...page.entries.map(entryLine));
        remaining.push(page.remaining);
        await write(home.store, { put: { 'k/5': 'new', 'k/6x': 'new' }, delete: ['k/1', 'k/4'] });
        const last = page.entries.at(-1);
        if (page.remaining === 0 || last === undefined) break;
        after = last.key;
      }
      assert.deepEqual(
        seen,
        names.map((name) => `${name}=old@1/1`),
      );
      assert.deepEqual(remaining, [4, 1, 0]);
    });

    it('counts without reading when the limit is 0', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1', b: '1' } });
      await write(home.store, { delete: ['a'] });
      assert.deepEqual(await home.store.range({ prefix: '', limit: 0 }), { entries: [], revision: 2, remaining: 1 });
      assert.deepEqual(await home.store.range({ prefix: '', limit: 0, revision: 1 }), {
        entries: [],
        revision: 1,
        remaining: 2,
      });
    });

    it('lists more than one slice of work', async () => {
      await using home = await maker.open();
      const count = 1300;
      const keys = Array.from({ length: count }, (_, i) => `n/${String(i).padStart(5, '0')}`);
      for (let at = 0; at < count; at += 100) {
        await write(home.store, { put: Object.fromEntries(keys.slice(at, at + 100).map((key) => [key, 'x'])) });
      }
      const revision = home.store.revision();
      // Where others write too, a range without a revision may see what is written while it is asked.
      const listing = home.store.range(maker.stages ? { prefix: 'n/' } : { prefix: 'n/', revision });
      const counting = home.store.range({ prefix: 'n/', limit: 1, revision });
      for (let at = 0; at < count; at += 100) {
        await write(home.store, { put: { 'n/99999': 'new' }, delete: keys.slice(at, at + 100) });
      }
      const { entries, remaining } = await listing;
      assert.deepEqual(
        entries.map((entry) => entry.key),
        keys,
      );
      assert.equal(remaining, 0);
      assert.equal((await counting).remaining, count - 1);
      assert.equal((await home.store.range({ prefix: 'n/', limit: 1, revision })).remaining, count - 1);
    });

    it('gets one key, and nothing for an absent or deleted one', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1', ab: '1' } });
      await write(home.store, { put: { a: '2' }, delete: ['ab'] });
      const entry = await home.store.get('a');
      assert.equal(entry && entryLine(entry), 'a=2@2/1');
      assert.equal(await home.store.get('ab'), undefined);
      assert.equal(await home.store.get('absent'), undefined);
    });

    it('answers Future for a revision not reached', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      await rejectsWith('Future', home.store.range({ prefix: '', revision: 2 }));
      await rejectsWith('Future', home.store.compact(2));
    });

    it('stops waiting when the signal aborts, with its reason', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      const reason = new Error('no longer wanted');
      const aborted = AbortSignal.abort(reason);
      await assert.rejects(home.store.get('a', aborted), reason);
      await assert.rejects(home.store.range({ prefix: '' }, aborted), reason);
      const later = new AbortController();
      const listing = home.store.range({ prefix: '' }, later.signal);
      later.abort(reason);
      await assert.rejects(listing, reason);
      assert.deepEqual(await lines(home.store, { prefix: '' }), ['a=1@1/1']);
    });
  });

  describe('compaction', () => {
    it('keeps the state at its revision and after, and forgets what was before', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1', b: '1', gone: '1' } });
      await write(home.store, { put: { a: '2' }, delete: ['gone'] });
      await write(home.store, { put: { a: '3' } });
      await write(home.store, { put: { gone: 'back' }, delete: ['b'] });
      await home.store.compact(3);
      assert.equal(home.store.compactedRevision(), 3);
      assert.deepEqual(await lines(home.store, { prefix: '', revision: 3 }), ['a=3@3/1', 'b=1@1/1']);
      assert.deepEqual(await lines(home.store, { prefix: '' }), ['a=3@3/1', 'gone=back@4/4']);
      assert.deepEqual(await watched(home.store, 3, 1), ['4: +gone=back -b']);
      await rejectsWith('Compacted', home.store.range({ prefix: '', revision: 2 }));
      await watchEnd(home.store, 2, 'Compacted');
    });

    it('may be asked again, for less too', async () => {
      await using home = await maker.open();
      await write(home.store, { put: { a: '1' } });
      await write(home.store, { put: { a: '2' } });
      await home.store.compact(2);
      await home.store.compact(1);
      await home.store.compact(2);
      assert.equal(home.store.compactedRevision(), 2);
      assert.deepEqual(await lines(home.store, { prefix: '' }), ['a=2@2/1']);
    });

    it('lets a range that was asked before it finish', async () => {
      await using home = await maker.open();
      const keys = Array.from({ length: 1300 }, (_, i) => `k/${String(i).padStart(5, '0')}`);
      for (let at = 0; at < keys.length; at += 100) {
        await write(home.store, { put: Object.fromEntries(keys.slice(at, at + 100).map((key) => [key, 'x'])) });
      }
      const revision = home.store.revision();
      await home.store.compact(revision);
      // From the far end, so that compaction would delete before the range comes there.
      for (let at = keys.length; at > 0; at -= 100) await write(home.store, { delete: keys.slice(at - 100, at) });
      const asked = home.store.range({ prefix: 'k/', revision });
      const compacted = home.store.compact(home.store.revision());
      await rejectsWith('Compacted', home.store.range({ prefix: '', revision }));
      assert.deepEqual(
        (await asked).entries.map(({ key }) => key),
        keys,
      );
      await compacted;
      assert.deepEqual(await lines(home.store, { prefix: '' }), []);
    });

    it('goes over more than one slice of work while others write', async () => {
      await using home = await maker.open();
      const keys = Array.from({ length: 100 }, (_, i) => `k/${i}`);
      for (let round = 0; round < 13; round++) {
        await write(home.store, { put: Object.fromEntries(keys.map((key) => [key, `${round}`])) });
      }
      await write(home.store, { delete: keys.slice(50) });
      const compacted = home.store.compact(14);
      await write(home.store, { put: { 'k/99': 'again' } });
      await compacted;
      const { entries } = await home.store.range({ prefix: 'k/' });
      const live = keys.slice(0, 50).map((key) => `${key}=12@13/1`);
      assert.deepEqual(entries.map(entryLine).sort(), [...live, 'k/99=again@15/15'].sort());
    });
  });
}

async function lines(store: Store, query: RangeQuery): Promise<string[]> {
  return (await store.range(query)).entries.map(entryLine);
}

import assert from 'node:assert/strict';
import type { CommitFault } from '../../../apiserver/store/engine.ts';
import { CommitGate, entryLine, rejectsWith, type StoreMaker, txn, watchEnd, watched, write } from './store-maker.ts';

/** What is seen before, and after, a commit that does not go through. */
/** Faults after which nothing has happened and the store goes on. */
const UNDONE = [
  ['NoSpace', 'NoSpace', 'for want of space'],
  ['ReadOnly', 'Unavailable', 'where the disk has become read-only'],
] as const;

export function describeFailures(maker: StoreMaker): void {
  describe('commits', () => {
    it('shows nothing before it is durable', async () => {
      const gate = new CommitGate();
      await using home = await maker.open(gate);
      await write(home.store, { put: { a: '1' } });
      gate.close();
      const held = home.store.txn(txn({ put: { a: 'held' } }));
      await gate.reached;
      assert.equal(home.store.revision(), 1);
      assert.deepEqual((await home.store.range({ prefix: '' })).entries.map(entryLine), ['a=1@1/1']);
      await watchEnd(home.store, 2, 'Future');
      gate.failNext('NoSpace');
      gate.open();
      await rejectsWith('NoSpace', held.done);
      await write(home.store, { put: { a: '2' } });
      assert.deepEqual(await watched(home.store, 0, 2), ['1: +a=1', '2: a=2']);
    });

    it('takes everything that queued meanwhile into the next commit', async () => {
      const gate = new CommitGate();
      await using home = await maker.open(gate);
      gate.close();
      const first = home.store.txn(txn({ put: { a: '1' } })).done;
      await gate.reached;
      const rest = Array.from({ length: 40 }, (_, i) => home.store.txn(txn({ put: { [`k${i}`]: '1' } })).done);
      gate.open();
      await Promise.all([first, ...rest]);
      assert.deepEqual(gate.groups, [
        { first: 1, last: 1 },
        { first: 2, last: 41 },
      ]);
    });

    it('limits a commit by count and by bytes', async () => {
      const gate = new CommitGate();
      await using home = await maker.open(gate);
      const small = Array.from({ length: 300 }, (_, i) => home.store.txn(txn({ put: { [`k${i}`]: '1' } })).done);
      await Promise.all(small);
      const value = new Uint8Array(400_000);
      const big = ['a', 'b', 'c'].map(
        (key) => home.store.txn({ compares: [], puts: [{ key, value }], deletes: [] }).done,
      );
      await Promise.all(big);
      assert.deepEqual(gate.groups, [
        { first: 1, last: 256 },
        { first: 257, last: 300 },
        { first: 301, last: 302 },
        { first: 303, last: 303 },
      ]);
    });

    for (const [fault, reason, why] of UNDONE)
      it(`fails everything in flight together ${why}, and goes on from before it`, async () => {
        const gate = new CommitGate();
        await using home = await maker.open(gate);
        await write(home.store, { put: { a: '1', b: '1' } });
        gate.close();
        const first = home.store.txn(txn({ if: { a: 1 }, put: { a: '2' }, delete: ['b'] }));
        await gate.reached;
        const later = home.store.txn(txn({ if: { a: 2, b: 0 }, put: { a: '3', b: '3', c: '3' } }));
        const refused = home.store.txn(txn({ if: { a: 1 }, put: { a: '4' } }));
        const idle = home.store.txn(txn({ if: { a: 3 } }));
        gate.failNext(fault);
        gate.open();
        for (const { done } of [first, later, refused, idle]) await rejectsWith(reason, done);
        const { entries, revision } = await home.store.range({ prefix: '' });
        assert.deepEqual([revision, ...entries.map(entryLine)], [1, 'a=1@1/1', 'b=1@1/1']);
        assert.equal(await write(home.store, { if: { a: 1, b: 1, c: 0 }, put: { c: '2' } }), 2);
        assert.deepEqual(await watched(home.store, 1, 1), ['2: +c=2']);
      });

    it('answers a compare that failed because of a write in flight only once that is durable', async () => {
      const gate = new CommitGate();
      await using home = await maker.open(gate);
      gate.close();
      const order: string[] = [];
      const writing = home.store.txn(txn({ put: { a: '1' } })).done.then(() => order.push('write'));
      const refused = home.store.txn(txn({ if: { a: 0 }, put: { a: '2' } })).done.then(() => order.push('refusal'));
      await gate.reached;
      await home.store.range({ prefix: '' });
      assert.deepEqual(order, []);
      gate.open();
      await Promise.all([writing, refused]);
      assert.deepEqual(order, ['write', 'refusal']);
    });

    for (const fault of ['IoErrorBeforeCommit', 'IoErrorAfterCommit', 'Death'] as const) {
      it(`is lost after ${fault}: outcome unknown, watches ended, later calls refused`, () => losesStore(maker, fault));
    }
  });
}

async function losesStore(maker: StoreMaker, fault: CommitFault): Promise<void> {
  const gate = new CommitGate();
  await using home = await maker.open(gate);
  const { store } = home;
  await write(store, { put: { a: '1' } });
  const seen: number[] = [];
  const watching = (async () => {
    for await (const batch of store.watch(0, AbortSignal.timeout(10_000))) seen.push(batch.revision);
  })();
  gate.close();
  const first = store.txn(txn({ put: { a: '2' } }));
  await gate.reached;
  const later = store.txn(txn({ put: { b: '2' } }));
  const unknown = [first, later].map(({ done }) => rejectsWith('UnknownOutcome', done));
  gate.failNext(fault);
  gate.open();
  await Promise.all(unknown);
  assert.equal((await store.lost).reason, 'UnknownOutcome');
  await rejectsWith('Closed', watching);
  assert.deepEqual(seen, [1]);
  assert.equal(store.revision(), 1);
  assert.throws(() => store.txn(txn({ put: { a: '3' } })), { reason: 'Closed' });
  await rejectsWith('Closed', store.get('a'));
  await watchEnd(store, 1, 'Closed');
  if (home.reopen === undefined) return;
  const reopened = await home.reopen();
  const { entries } = await reopened.range({ prefix: '' });
  assert.deepEqual(entries.map(entryLine), [fault === 'IoErrorAfterCommit' ? 'a=2@2/1' : 'a=1@1/1']);
}

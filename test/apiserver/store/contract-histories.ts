import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Store, TxnRequest, TxnResult } from '../../../apiserver/store/store.ts';
import { bytes, entryLine, type StoreMaker, watched } from './store-maker.ts';
import { StoreModel } from './store-model.ts';

/** Ends shrinking too, so that a failure is told before the test times out. */
const TIME_LIMIT_MS = 12_000;
const key = fc.constantFrom('a', 'a/', 'a/b', 'a/c', 'b', 'b/1', 'b/2', 'b/3');
const prefixes = ['', 'a', 'a/', 'b/', 'c'];

/** A compare against the revision the key has, an older or a newer one. */
const compare = fc.record({ key, off: fc.constantFrom(0, 0, 0, 0, -1, 1) });
const transaction = fc.record({
  kind: fc.constant('txn' as const),
  compares: fc.uniqueArray(compare, { maxLength: 2, selector: (each) => each.key }),
  writes: fc.uniqueArray(fc.record({ key, remove: fc.boolean() }), { maxLength: 4, selector: (each) => each.key }),
  /** Whether the next step is submitted without waiting for this one. */
  wait: fc.boolean(),
});
const compaction = fc.record({
  kind: fc.constant('compact' as const),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});
const step = fc.oneof({ weight: 9, arbitrary: transaction }, { weight: 1, arbitrary: compaction });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Random histories, compared with the model at every revision that can still be read. */
export function describeHistories(maker: StoreMaker): void {
  it('is the same as a simple model after any history', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(1, 500, 1_000_000),
        async (steps, limit, watchBufferBytes) => {
          await using home = await maker.open({ watchBufferBytes });
          const model = new StoreModel();
          await replay(home.store, model, maker.stages ? steps : steps.map((each) => ({ ...each, wait: true })));
          await compareWith(model, home.store, limit);
          if (home.reopen !== undefined) await compareWith(model, await home.reopen(), limit);
        },
      ),
      { numRuns: maker.histories, interruptAfterTimeLimit: TIME_LIMIT_MS },
    );
  });
}

async function replay(store: Store, model: StoreModel, steps: readonly Step[]): Promise<void> {
  const answers: Promise<void>[] = [];
  for (const [i, each] of steps.entries()) {
    if (each.kind === 'compact') {
      await Promise.all(answers);
      await store.compact(Math.floor(each.share * store.revision()));
      continue;
    }
    const request = toRequest(each, model, i);
    const expected = model.txn(request);
    const { staged, done } = store.txn(request);
    if (staged !== undefined) assert.equal(staged, model.revision);
    answers.push(done.then((result) => assert.equal(answerLine(result), expected)));
    if (each.wait) await answers.at(-1);
  }
  await Promise.all(answers);
}

function toRequest(each: Extract<Step, { kind: 'txn' }>, model: StoreModel, i: number): TxnRequest {
  return {
    compares: each.compares.map(({ key, off }) => ({ key, revision: model.modRevision(key) + off })),
    puts: each.writes.filter(({ remove }) => !remove).map(({ key }) => ({ key, value: bytes(`v${i}`) })),
    deletes: each.writes.filter(({ remove }) => remove).map(({ key }) => key),
  };
}

function answerLine(result: TxnResult): string {
  if (result.ok) return `ok ${result.revision}`;
  return `refused ${[...result.found].map(([key, revision]) => `${key}@${revision}`).join(' ')}`;
}

async function compareWith(model: StoreModel, store: Store, limit: number): Promise<void> {
  assert.equal(store.revision(), model.revision);
  const revisions = Array.from({ length: model.revision + 1 }, (_, revision) => revision);
  const readable = revisions.slice(store.compactedRevision());
  // All at once: a watch of the past may have to wait for its turn.
  const watching = Promise.all(readable.map((revision) => watched(store, revision, model.revision - revision)));
  for (const revision of readable) {
    const found = await Promise.all(prefixes.map((prefix) => paged(store, prefix, revision, limit)));
    assert.deepEqual(
      found,
      prefixes.map((prefix) => model.range(prefix, revision)),
    );
  }
  assert.deepEqual(
    await watching,
    readable.map((revision) => model.batches.slice(revision + 1)),
  );
}

/** The range in pages; every page's `remaining` is checked against the pages that follow. */
async function paged(store: Store, prefix: string, revision: number, limit: number): Promise<string[]> {
  const lines: string[] = [];
  const totals = new Set<number>();
  for (let after = ''; ; ) {
    const page = await store.range({ prefix, after, limit, revision });
    lines.push(...page.entries.map(entryLine));
    totals.add(lines.length + page.remaining);
    const last = page.entries.at(-1);
    if (page.remaining === 0 || last === undefined) break;
    after = last.key;
  }
  assert.deepEqual([...totals], [lines.length]);
  return lines;
}

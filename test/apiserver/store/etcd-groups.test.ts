import assert from 'node:assert/strict';
import { ConnectionPool } from 'etcd3/lib/connection-pool.js';
import { KVClient } from 'etcd3/lib/rpc.js';
import fc from 'fast-check';
import type { Batch, Store, TxnRequest, TxnResult } from '../../../apiserver/store/store.ts';
import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { EtcdHome } from './etcd-home.ts';
import { batchLine, bytes, rejectsWith, textOf, txn } from './store-maker.ts';

const PARALLEL = 40;
const keys = Array.from({ length: PARALLEL }, (_, i) => `k/${String(i).padStart(2, '0')}`);
const state = (cells: ReadonlyMap<string, string>) =>
  [...cells].sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => `${k}=${v}`);

describe('transactions that go to etcd as one', () => {
  let etcd: EtcdServer;

  before(async function () {
    needEtcd(this);
    etcd = await EtcdServer.start();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  const home = () => new EtcdHome(etcd);
  const grouped = { room: 64 } as const;

  /** Which revision etcd itself is at. */
  async function theirRevision(): Promise<number> {
    const pool = new ConnectionPool({ hosts: etcd.endpoint });
    const { header } = await new KVClient(pool).range({ key: Buffer.from('none') });
    pool.close();
    return Number(header.revision);
  }

  it('take few of its revisions, and have one each of their own', async () => {
    await using place = home();
    const store = await place.open(grouped);
    const began = await theirRevision();
    const results = await Promise.all(
      keys.map((key) => store.txn(txn({ if: { [key]: 0 }, put: { [key]: 'x' } })).done),
    );
    const taken = (await theirRevision()) - began;
    assert.ok(taken < PARALLEL / 2, `${taken} revisions of etcd for ${PARALLEL} transactions`);
    const lines = results.map((result, i) => `${result.ok ? result.revision : 'refused'}: +${keys[i]}=x`);
    assert.deepEqual((await history(store)).map(batchLine).sort(), lines.sort());
    assert.equal(new Set(lines.map(Number.parseFloat)).size, PARALLEL);
    assert.equal(await store.latest(), store.revision());
  });

  it('fail one by one, each told what its keys are at', async () => {
    await using place = home();
    const store = await place.open(grouped);
    const first = await Promise.all(keys.map((key) => store.txn(txn({ put: { [key]: '1' } })).done));
    const at = new Map(first.map((result, i) => [keys[i] ?? '', result.ok ? result.revision : 0]));
    const isStale = (i: number) => i % 3 === 0 || i === PARALLEL - 1;
    const second = await Promise.all(
      keys.map(
        (key, i) => store.txn(txn({ if: { [key]: isStale(i) ? 0 : (at.get(key) ?? 0) }, put: { [key]: '2' } })).done,
      ),
    );
    for (const [i, result] of second.entries()) {
      const key = keys[i] ?? '';
      if (isStale(i)) assert.deepEqual(result, { ok: false, found: new Map([[key, at.get(key)]]) });
      else assert.ok(result.ok);
    }
    const { entries, revision } = await store.range({ prefix: '' });
    assert.deepEqual(
      entries.map(({ value }) => textOf(value)),
      keys.map((_, i) => (isStale(i) ? '1' : '2')),
    );
    // The last of them wrote nothing: all the same the store has come to the end of what etcd did.
    assert.equal(store.revision(), revision);
    assert.equal(await store.latest(), revision);
  });

  it('are what they were for another process, after a restart and for who asks etcd again', async () => {
    await using place = home();
    const store = await place.open(grouped);
    await Promise.all(keys.map((key) => store.txn(txn({ put: { [key]: '1' } })).done));
    const { entries } = await store.range({ prefix: '' });
    const lines = (await history(store)).map(batchLine);
    await place.close();
    const again = await place.open();
    assert.deepEqual((await again.range({ prefix: '' })).entries, entries);
    assert.deepEqual((await history(again)).map(batchLine), lines);
    const results = await Promise.all(
      entries.map(({ key, modRevision }) => again.txn(txn({ if: { [key]: modRevision }, put: { [key]: '2' } })).done),
    );
    assert.ok(results.every(({ ok }) => ok));
  });

  it('do not take what removes keys, or is large, among them', async () => {
    await using place = home();
    const store = await place.open(grouped);
    const big = { compares: [], puts: [{ key: 'big', value: new Uint8Array(1_000_000).fill(255) }], deletes: [] };
    await Promise.all(keys.map((key) => store.txn(txn({ put: { [key]: '1' } })).done));
    const requests = [...keys.map((key) => txn({ put: { [`${key}/x`]: '1' }, delete: [key] })), big];
    const began = await theirRevision();
    const results = await Promise.all(requests.map((request) => store.txn(request).done));
    assert.equal((await theirRevision()) - began, requests.length);
    assert.ok(results.every(({ ok }) => ok));
    assert.deepEqual((await store.get('big'))?.value, big.puts[0]?.value);
  });

  it('can be told apart after a compaction between them', async () => {
    await using place = home();
    const store = await place.open(grouped);
    for (const value of ['1', '2'])
      await Promise.all(keys.map((key) => store.txn(txn({ put: { [key]: value } })).done));
    const { revision = 0 } = (await history(store)).at(-5) ?? {};
    await store.compact(revision);
    await rejectsWith('Compacted', store.range({ prefix: '', revision: revision - 1 }));
    const { entries } = await store.range({ prefix: '', revision });
    const values = entries.map(({ value }) => textOf(value));
    assert.deepEqual([values.filter((v) => v === '1').length, values.length], [4, PARALLEL]);
    const rest = (await history(store, revision)).filter(({ events }) => events.length > 0);
    assert.equal(rest.length, 4);
  });

  it('can each be read, counted and watched from at their revision, after any history', async () => {
    const write = fc.record({
      key: fc.constantFrom(...keys.slice(0, 12)),
      remove: fc.boolean(),
      off: fc.constantFrom(true, false, false),
    });
    const round = fc.array(fc.uniqueArray(write, { minLength: 1, maxLength: 3, selector: ({ key }) => key }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(round, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 5 }),
        async (rounds, limit) => {
          await using place = home();
          const store = await place.open(grouped);
          const known = new Map<string, number>();
          const told = new Map<number, TxnRequest>();
          for (const [number, requests] of rounds.entries()) await play(store, requests, { number, known, told });
          await checkHistory(store, told, limit);
        },
      ),
      { numRuns: 15, interruptAfterTimeLimit: 12_000 },
    );
  });
});

type Write = { readonly key: string; readonly remove: boolean; readonly off: boolean };

/** Does a round of transactions at once, some on what is known to be old. */
async function play(
  store: Store,
  requests: readonly (readonly Write[])[],
  { number, known, told }: { number: number; known: Map<string, number>; told: Map<number, TxnRequest> },
): Promise<void> {
  const sent = requests.map(
    (writes, i): TxnRequest => ({
      compares: writes.map(({ key, off }) => ({ key, revision: off ? 64_000_000 : (known.get(key) ?? 0) })),
      puts: writes.filter(({ remove }) => !remove).map(({ key }) => ({ key, value: bytes(`${number}.${i}`) })),
      deletes: writes.filter(({ remove, key }) => remove && known.has(key)).map(({ key }) => key),
    }),
  );
  const results = await Promise.all(sent.map((request) => store.txn(request).done));
  for (const [i, result] of results.entries()) note(sent[i] as TxnRequest, result, told);
  for (const { key, modRevision } of (await store.range({ prefix: '' })).entries) known.set(key, modRevision);
}

function note(request: TxnRequest, result: TxnResult, told: Map<number, TxnRequest>): void {
  if (!result.ok || request.puts.length + request.deletes.length === 0) return;
  assert.ok(!told.has(result.revision), `two transactions were told ${result.revision}`);
  told.set(result.revision, request);
}

/** Every revision that was told is in the history as what was written, judged rightly, and reads as the history says. */
async function checkHistory(store: Store, told: ReadonlyMap<number, TxnRequest>, limit: number): Promise<void> {
  const batches = await history(store);
  assert.deepEqual(
    batches.map(({ revision }) => revision),
    [...told.keys()].sort((a, b) => a - b),
  );
  const cells = new Map<string, string>();
  const at = new Map<string, number>();
  for (const [i, batch] of batches.entries()) {
    const request = told.get(batch.revision);
    // Nothing was done at many numbers: what is read there is what was before.
    await checkRead(store, batch.revision - 1, { cells, at, limit });
    for (const { key, revision } of request?.compares ?? []) assert.equal(at.get(key) ?? 0, revision);
    for (const event of batch.events) {
      if (event.type === 'delete') assert.ok(cells.delete(event.key) && at.delete(event.key));
      else {
        assert.equal(event.created, !cells.has(event.key));
        cells.set(event.key, textOf(event.value));
        at.set(event.key, batch.revision);
      }
    }
    assert.deepEqual(batch.events.map(({ key }) => key).sort(), writtenBy(request).sort());
    await checkRead(store, batch.revision, { cells, at, limit });
    assert.deepEqual((await history(store, batch.revision)).map(batchLine), batches.slice(i + 1).map(batchLine));
  }
}

const writtenBy = (request: TxnRequest | undefined): string[] => [
  ...(request?.puts ?? []).map(({ key }) => key),
  ...(request?.deletes ?? []),
];

async function checkRead(
  store: Store,
  revision: number,
  { cells, at, limit }: { cells: ReadonlyMap<string, string>; at: ReadonlyMap<string, number>; limit: number },
): Promise<void> {
  const found = new Map<string, string>();
  assert.equal((await store.range({ prefix: 'k', limit: 0, revision })).remaining, cells.size);
  for (let after = ''; ; ) {
    const page = await store.range({ prefix: 'k', after, limit, revision });
    for (const { key, value, modRevision } of page.entries) {
      assert.equal(modRevision, at.get(key));
      found.set(key, textOf(value));
    }
    assert.equal(found.size + page.remaining, cells.size);
    const last = page.entries.at(-1);
    if (page.remaining === 0 || last === undefined) break;
    after = last.key;
  }
  assert.deepEqual(state(found), state(cells));
}

/** All batches after a revision that did something, up to now. */
async function history(store: Store, from = 0): Promise<Batch[]> {
  const batches: Batch[] = [];
  if (from === store.revision()) return batches;
  for await (const batch of store.watch(from, AbortSignal.timeout(10_000))) {
    if (batch.events.length > 0) batches.push(batch);
    if (batch.revision === store.revision()) return batches;
  }
  throw new Error('the watch ended before the present');
}

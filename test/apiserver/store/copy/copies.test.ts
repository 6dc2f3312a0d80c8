import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { fillStore } from '../../../../apiserver/store/copy/fill-store.ts';
import { firstDifference } from '../../../../apiserver/store/copy/first-difference.ts';
import { countKeys, storePages } from '../../../../apiserver/store/copy/store-pages.ts';
import { openEtcdStore } from '../../../../apiserver/store/etcd/open-store.ts';
import type { EtcdStoreOptions } from '../../../../apiserver/store/etcd/store.ts';
import { openUnfinishedEtcd, whatIsInEtcd } from '../../../../apiserver/store/etcd/unfinished.ts';
import { MemoryStore } from '../../../../apiserver/store/memory/store.ts';
import { SqliteStore } from '../../../../apiserver/store/sqlite/store.ts';
import { openUnfinishedSqlite } from '../../../../apiserver/store/sqlite/unfinished.ts';
import type { Store, StoreBirth, UnfinishedStore } from '../../../../apiserver/store/store.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../../resources/ambient/system-ids.ts';
import { EtcdServer, findEtcd } from '../../../harness/etcd-server.ts';
import { bytes, rejectsWith, textOf, watchEnd, write } from '../store-maker.ts';

const never = new AbortController().signal;

/** A place where a store can be made, filled and opened. */
interface Place {
  fill(birth: StoreBirth): Promise<UnfinishedStore>;
  open(): Promise<Store>;
}

type Kind = 'memory' | 'sqlite' | 'etcd';
const ORDERS: readonly (readonly [Kind, Kind])[] = [
  ['memory', 'sqlite'],
  ['sqlite', 'etcd'],
  ['etcd', 'sqlite'],
  ['etcd', 'memory'],
  ['sqlite', 'sqlite'],
  ['etcd', 'etcd'],
];

async function state(store: Store): Promise<Map<string, string>> {
  const { entries } = await store.range({ prefix: '' });
  return new Map(entries.map(({ key, value }) => [key, textOf(value)]));
}

describe('copies of stores', function () {
  this.timeout(120_000);
  let folder: string;
  let etcd: EtcdServer | undefined;
  let places = 0;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-copies-'));
    etcd = findEtcd() === undefined ? undefined : await EtcdServer.start();
    if (etcd === undefined) process.stderr.write('skipped: copies to and from etcd need etcd (Debian: etcd-server)\n');
  });
  after(async () => {
    await etcd?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  function etcdOptions(root: string): EtcdStoreOptions {
    return { endpoints: etcd?.endpoints ?? [], root, clock: systemClock, ids: systemIds };
  }

  function place(kind: Kind): Place {
    places += 1;
    if (kind === 'memory') return memoryPlace();
    if (kind === 'sqlite') {
      const path = join(folder, `${places}.db`);
      return {
        fill: (birth) => openUnfinishedSqlite({ path, ids: systemIds }, birth),
        open: () => SqliteStore.open({ path, ids: systemIds }),
      };
    }
    const options = etcdOptions(`copy-${places}`);
    return { fill: (birth) => openUnfinishedEtcd(options, birth), open: () => openEtcdStore(options) };
  }

  for (const [from, to] of ORDERS) {
    it(`from ${from} to ${to} hold what the original holds, and go on above its revision`, async function () {
      if (etcd === undefined && (from === 'etcd' || to === 'etcd')) return this.skip();
      const key = fc.constantFrom('a', 'a/b', 'b', 'objects/coppice.dev/vms/x/y', '~', 'fences/z');
      const puts = fc.dictionary(key, fc.string({ maxLength: 200 }), { minKeys: 1, noNullPrototype: true });
      const history = fc.array(fc.oneof(puts, fc.array(key, { minLength: 1, maxLength: 3 })), { maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(history, async (changes) => {
          await using source = await place(from).open();
          for (const change of changes) {
            if (Array.isArray(change)) await source.txn({ compares: [], puts: [], deletes: [...new Set(change)] }).done;
            else await write(source, { put: change });
          }
          const target = place(to);
          const revision = source.revision();
          await copy(source, await target.fill({ uid: source.uid, revision }));
          await using copied = await target.open();
          assert.equal(copied.uid, source.uid);
          assert.deepEqual(await state(copied), await state(source));
          await goesOnAbove(copied, revision);
        }),
        // Two stores in one etcd wait for each other’s revisions.
        { numRuns: from === to ? 3 : 8 },
      );
    });
  }

  it('in sqlite remove what is left of one that was killed before it had a name', async () => {
    const own = await mkdtemp(join(folder, 'killed-'));
    const path = join(own, 'state.db');
    for (const end of ['', '-wal', '-shm']) await writeFile(`${path}.unfinished.some-uid.new${end}`, 'half');
    await writeFile(`${path}.some-uid.new`, 'another’s');
    const unfinished = await openUnfinishedSqlite({ path, ids: systemIds }, { uid: 'u', revision: 3 });
    await unfinished.finish();
    assert.deepEqual((await readdir(own)).sort(), ['state.db', 'state.db.some-uid.new']);
  });

  for (const kind of ['sqlite', 'etcd'] as const) {
    describe(`in ${kind}`, () => {
      beforeEach(function () {
        if (kind === 'etcd' && etcd === undefined) this.skip();
      });

      it('remember where they came from, over restarts', async () => {
        const origin = { uid: 'old', revision: 7, takenAt: '2026-11-30T00:00:00Z' };
        const target = place(kind);
        const unfinished = await target.fill({ uid: 'new', revision: 1_000_000_007, origin });
        assert.deepEqual(unfinished.store.origin, origin);
        await unfinished.finish();
        await using store = await target.open();
        assert.deepEqual(store.origin, origin);
        assert.equal(store.uid, 'new');
        assert.equal((await write(store, { put: { a: '1' } })) > 1_000_000_007, true);
      });

      it('that were cut short are begun again, and nothing of the first try is left', async () => {
        const target = place(kind);
        const first = await target.fill({ uid: 'u', revision: 3 });
        await write(first.store, { put: { old: '1' } });
        await first[Symbol.asyncDispose]();
        const second = await target.fill({ uid: 'u', revision: 3 });
        await write(second.store, { put: { new: '1' } });
        await second.finish();
        await using store = await target.open();
        assert.deepEqual([...(await state(store)).keys()], ['new']);
      });

      it('never replace a store', async () => {
        const target = place(kind);
        await using store = await target.open();
        await write(store, { put: { a: '1' } });
        await rejectsWith('Unreadable', target.fill({ uid: 'u', revision: 3 }));
        assert.equal((await state(store)).get('a'), '1');
      });

      it('keep large and many values', async () => {
        await using source = await place('memory').open();
        for (const name of ['a', 'b', 'c']) await write(source, { put: { [name]: name.repeat(1_400_000) } });
        for (let i = 0; i < 10; i++) {
          const puts = Array.from({ length: 127 }, (_, j) => [`k/${i}/${j}`, `${i}-${j}`]);
          await write(source, { put: Object.fromEntries(puts) });
        }
        const target = place(kind);
        await copy(source, await target.fill({ uid: 'u', revision: source.revision() }));
        await using store = await target.open();
        assert.equal(await countKeys(store, '', store.revision(), never), 1273);
      });
    });
  }

  it('of a file are not at its place before they are finished', async () => {
    const path = join(folder, 'draft.db');
    const unfinished = await openUnfinishedSqlite({ path, ids: systemIds }, { uid: 'u', revision: 3 });
    await write(unfinished.store, { put: { a: '1' } });
    assert.equal((await readdir(folder)).includes('draft.db'), false);
    await unfinished.finish();
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith('draft')),
      ['draft.db'],
    );
  });

  it('of a file are not finished over one that appeared meanwhile', async () => {
    const path = join(folder, 'meanwhile.db');
    await using unfinished = await openUnfinishedSqlite({ path, ids: systemIds }, { uid: 'u', revision: 3 });
    await writeFile(path, 'somebody else’s');
    await rejectsWith('Unreadable', unfinished.finish());
  });

  it('in etcd are opened by nobody before they are finished', async function () {
    if (etcd === undefined) return this.skip();
    const options = etcdOptions('unfinished');
    const unfinished = await openUnfinishedEtcd(options, { uid: 'u', revision: 3 });
    const refusal = await rejectsWith('Unreadable', openEtcdStore(options));
    assert.match(refusal.message, /not complete.*run that again/);
    assert.equal((await whatIsInEtcd(options))?.unfinished, true);
    await unfinished.finish();
    assert.equal((await whatIsInEtcd(options))?.unfinished, undefined);
    await using _ = await openEtcdStore(options);
  });

  it('in etcd refuse every compare with a revision from before', async function () {
    if (etcd === undefined) return this.skip();
    const options = etcdOptions('compares');
    const unfinished = await openUnfinishedEtcd(options, { uid: 'u', revision: 200 });
    await unfinished.finish();
    await using store = await openEtcdStore(options);
    // One of these is where etcd’s own counting has its 0, which means absent there.
    const before = Array.from({ length: 201 }, (_, i) => i).filter((i) => i > 0);
    for (const revision of before) {
      const answer = await store.txn({ compares: [{ key: 'absent', revision }], puts: [], deletes: [] }).done;
      assert.equal(answer.ok, false, `an absent key passed for one of revision ${revision}`);
    }
  });

  it('are told apart by the first key in which they differ', async () => {
    const of = async function* (words: Record<string, string>) {
      for (const [key, value] of Object.entries(words)) yield [{ key, value: bytes(value) }];
    };
    const differ = (a: Record<string, string>, b: Record<string, string>) => firstDifference(of(a), of(b));
    assert.equal(await differ({ a: '1', b: '2' }, { a: '1', b: '2' }), undefined);
    assert.deepEqual(await differ({ a: '1', b: '2' }, { a: '1' }), { key: 'b', how: 'missing' });
    assert.deepEqual(await differ({ b: '2' }, { a: '1', b: '2' }), { key: 'a', how: 'extra' });
    assert.deepEqual(await differ({ a: '1' }, { a: '1', b: '2' }), { key: 'b', how: 'extra' });
    assert.deepEqual(await differ({ a: '1', b: '2' }, { a: '1', b: '3' }), { key: 'b', how: 'changed' });
  });
});

async function copy(source: Store, unfinished: UnfinishedStore): Promise<void> {
  const revision = source.revision();
  await fillStore(unfinished.store, storePages(source, revision, never), never);
  const { store } = unfinished;
  const difference = await firstDifference(
    storePages(source, revision, never),
    storePages(store, store.revision(), never),
  );
  assert.equal(difference, undefined);
  await unfinished.finish();
}

/** Nothing from before the copy means anything in it, and everything after is above. */
async function goesOnAbove(store: Store, revision: number): Promise<void> {
  const { entries } = await store.range({ prefix: '' });
  for (const { key, modRevision } of entries) assert.ok(modRevision > revision, `${key} is at ${modRevision}`);
  if (store.revision() > revision) {
    await watchEnd(store, revision, 'Compacted');
    await rejectsWith('Compacted', store.range({ prefix: '', revision }));
  }
  const before = store.revision();
  assert.ok((await write(store, { put: { after: '1' } })) > before);
}

function memoryPlace(): Place {
  let filled: Store | undefined;
  return {
    async fill(birth) {
      const store = await MemoryStore.open({ ids: systemIds, birth });
      filled = store;
      return { store, finish: () => store.compact(store.revision()), async [Symbol.asyncDispose]() {} };
    },
    open: async () => filled ?? MemoryStore.open({ ids: systemIds }),
  };
}

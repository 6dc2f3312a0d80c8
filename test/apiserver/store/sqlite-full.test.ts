import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SqliteStore } from '../../../apiserver/store/sqlite/store.ts';
import { type Store, StoreError } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { SmallDisk } from '../../harness/small-disk.ts';
import { rejectsWith, watched, write } from './store-maker.ts';

const DISK_BYTES = 4 * 1024 * 1024;
const VALUE = 'x'.repeat(60_000);

describe('the sqlite store on a disk that fails over to read-only', () => {
  it('refuses writes, which did not happen, serves reads, and has everything when it is opened again', async function () {
    this.timeout(60_000);
    await using disk = await SmallDisk.onLoop(this, 32 * 1024 * 1024);
    const path = join(disk.folder, 'store.db');
    {
      await using store = await SqliteStore.open({ path, ids: systemIds });
      for (let i = 1; i <= 3; i++) assert.equal(await write(store, { put: { [`k${i}`]: VALUE } }), i);
      await disk.fail();
      const { message } = await rejectsWith('Unavailable', store.txn(large('refused')).done);
      assert.match(message, /read-only/);
      await rejectsWith('Unavailable', store.txn(large('refused')).done);
      assert.equal(store.revision(), 3);
      assert.equal((await store.range({ prefix: 'k' })).entries.length, 3);
      assert.equal((await watched(store, 0, 3)).length, 3);
    }
    await disk.again();
    await using store = await SqliteStore.open({ path, ids: systemIds });
    assert.equal(store.revision(), 3);
    assert.equal((await store.range({ prefix: '' })).entries.length, 3);
    assert.equal(await write(store, { put: { more: '1' } }), 4);
  });
});

describe('the sqlite store on a disk that is full', () => {
  it('refuses writes with NoSpace, serves reads, and writes again once there is space', async function () {
    await using mounted = await SmallDisk.inMemory(this, DISK_BYTES);
    const ballast = join(mounted.folder, 'ballast');
    const more = join(mounted.folder, 'more-ballast');
    await writeFile(ballast, new Uint8Array(DISK_BYTES / 8));
    await writeFile(more, new Uint8Array(DISK_BYTES / 8));
    const path = join(mounted.folder, 'store.db');
    {
      await using store = await SqliteStore.open({ path, ids: systemIds });
      const written = (await fill(store, 3)) + (await fill(store, 1));
      assert.ok(written > 5);
      assert.equal(store.revision(), written);
      assert.equal((await store.range({ prefix: 'k', limit: 0 })).remaining, written);
      assert.equal((await watched(store, 0, written)).length, written);
      await rejectsWith('NoSpace', store.txn(large('again')).done);

      await rm(ballast);
      assert.equal(await write(store, { if: { again: 0 }, put: { again: VALUE } }), written + 1);
    }
    // Closing moved what fitted from the -wal into the file; the next start needs a little room.
    await rm(more);
    await using store = await SqliteStore.open({ path, ids: systemIds });
    const { entries, revision } = await store.range({ prefix: '' });
    assert.equal(entries.length, revision);
    for (const { value } of entries) assert.equal(value.byteLength, VALUE.length);
  });

  it('is not made, and nothing is left, where it does not fit', async function () {
    await using mounted = await SmallDisk.inMemory(this, DISK_BYTES);
    await writeFile(join(mounted.folder, 'ballast'), new Uint8Array(DISK_BYTES - 32_768));
    const path = join(mounted.folder, 'store.db');
    await rejectsWith('NoSpace', SqliteStore.open({ path, ids: systemIds }));
    await rm(join(mounted.folder, 'ballast'));
    await using store = await SqliteStore.open({ path, ids: systemIds });
    assert.equal(await write(store, { put: { a: '1' } }), 1);
  });
});

function large(key: string) {
  return { compares: [], puts: [{ key, value: new TextEncoder().encode(VALUE) }], deletes: [] };
}

/** Writes, `atOnce` at a time, until the disk is full; how many were acknowledged. Later ones in flight must fail too. */
async function fill(store: Store, atOnce: number): Promise<number> {
  let acknowledged = 0;
  for (let round = 0; ; round++) {
    const writes = Array.from({ length: atOnce }, (_, i) => store.txn(large(`k${atOnce}-${round}-${i}`)).done);
    const outcomes = await Promise.allSettled(writes);
    const firstFailure = outcomes.findIndex(({ status }) => status === 'rejected');
    if (firstFailure === -1) {
      acknowledged += outcomes.length;
      continue;
    }
    acknowledged += firstFailure;
    for (const outcome of outcomes.slice(firstFailure)) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreError);
      assert.equal(outcome.reason.reason, 'NoSpace');
    }
    return acknowledged;
  }
}

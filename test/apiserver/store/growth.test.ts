import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { encodeStored } from '../../../apiserver/cache/stored-object.ts';
import { keepCompacting } from '../../../apiserver/compactor.ts';
import type { Store, TxnRequest } from '../../../apiserver/store/store.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { diskFolder, EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { quiesce } from '../../harness/eventually.ts';
import { until } from '../../harness/until.ts';
import { EtcdHome } from './etcd-home.ts';
import { StoreHome } from './store-home.ts';
import { write } from './store-maker.ts';

const MANY = 50_000;
const A_TIME = 100;
const HOSTS = 100;
const COMPACTING = fileURLToPath(new URL('./compact-until-killed.ts', import.meta.url));

describe('the sqlite store, compacting 50,000 rows', () => {
  it('writes and reads on meanwhile', async function () {
    this.timeout(60_000);
    await using home = await StoreHome.make(await diskFolder());
    const store = await home.open();
    await piledUp(store);
    let compacted = false;
    const compacting = store.compact(store.revision()).then(() => {
      compacted = true;
    });
    let writes = 0;
    let reads = 0;
    while (!compacted) {
      await write(store, { put: { meanwhile: `${writes}` } });
      if (compacted) break;
      writes++;
      const { entries } = await store.range({ prefix: 'k/', limit: 10 });
      assert.equal(entries.length, 10);
      if (!compacted) reads++;
    }
    await compacting;
    // A sweep in one piece would let two or three through.
    assert.ok(writes > 20 && reads > 20, `${writes} writes and ${reads} reads were answered while it compacted`);
    await home.close();
    assert.deepEqual(rowsOf(home.path), { old: 0, live: A_TIME });
  });

  it('goes on where it was when it is killed in the middle', async function () {
    this.timeout(60_000);
    await using home = await StoreHome.make(await diskFolder());
    await piledUp(await home.open());
    await home.close();
    const child = spawn(process.execPath, [COMPACTING, home.path, '10'], { stdio: 'inherit' });
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'], 'it was over before the kill');
    const { old } = rowsOf(home.path);
    assert.ok(old > 0 && old < MANY - A_TIME, `${old} rows are left to forget`);
    await until('it has forgotten the rest, asked by nobody', async () => {
      const store = await home.open();
      for (let i = 0; i < 50; i++) await store.get('meanwhile');
      await home.close();
      return rowsOf(home.path).old === 0;
    });
    assert.deepEqual(rowsOf(home.path), { old: 0, live: A_TIME });
  });
});

describe('a store under a thousand updates a second', () => {
  it('stays within five times what it holds', async function () {
    this.timeout(120_000);
    await using home = await StoreHome.make(await diskFolder());
    const store = await home.open();
    const { count, bytes } = { count: 5_000, bytes: 4_000 };
    const value = () => crypto.getRandomValues(new Uint8Array(bytes));
    const update = (i: number) =>
      store.txn({ compares: [], puts: [{ key: `k/${i % count}`, value: value() }], deletes: [] }).done;
    for (let i = 0; i < count; i += 500) await Promise.all(Array.from({ length: 500 }, (_, at) => update(i + at)));
    await using world = new World(store);
    const live = count * (bytes + 10);
    for (let second = 0; second < 40; second++) {
      for (let i = 0; i < 1000; i += 250)
        await Promise.all(Array.from({ length: 250 }, (_, at) => update(second * 1000 + i + at)));
      await world.pass(1000);
      const { bytes: file } = await store.size();
      assert.ok(file <= 5 * live, `${Math.round(file / live)} times what it holds, after ${second + 1} s`);
    }
  });
});

describe('a day of heartbeats', () => {
  it('leaves the sqlite store as large as an hour did', async function () {
    this.timeout(120_000);
    await using home = await StoreHome.make(await diskFolder());
    await staysAsLarge(await home.open());
  });

  it('leaves etcd as large as an hour did', async function () {
    needEtcd(this);
    this.timeout(180_000);
    await using etcd = await EtcdServer.start();
    await using home = new EtcdHome(etcd);
    await staysAsLarge(await home.open());
  });
});

/** Keys that were written over and over. */
async function piledUp(store: Store): Promise<void> {
  const rounds = Array.from({ length: MANY / A_TIME }, (_, round) =>
    Object.fromEntries(Array.from({ length: A_TIME }, (_, i) => [`k/${i}`, `${round}`])),
  );
  await Promise.all(rounds.map((put) => write(store, { put })));
}

/** Rows under `k/` in a store that is closed: those that are the newest of their key, and the others. */
function rowsOf(path: string): { readonly old: number; readonly live: number } {
  using database = new DatabaseSync(path, { readOnly: true });
  const count = (sql: string) => Number(database.prepare(sql).get()?.count);
  const all = count(`SELECT count(*) AS count FROM log WHERE key LIKE 'k/%'`);
  const live = count(`SELECT count(*) AS count FROM cur WHERE key LIKE 'k/%' AND created > 0`);
  return { old: all - live, live };
}

async function staysAsLarge(store: Required<Pick<Store, 'size'>> & Store): Promise<void> {
  await using world = new World(store);
  const hours = async (count: number) => {
    for (let minute = 0; minute < count * 60; minute++) {
      await store.txn(heartbeats(world.clock.now())).done;
      await world.pass(60_000);
    }
    return store.size();
  };
  const hour = await hours(1);
  const day = await hours(23);
  assert.ok(day.bytes <= hour.bytes * 1.25, `${day.bytes} bytes after a day, ${hour.bytes} after an hour`);
  assert.ok(day.usedBytes <= hour.usedBytes * 1.25, `${day.usedBytes} bytes in use, ${hour.usedBytes} after an hour`);
  const leases = await store.range({ prefix: 'coordination.k8s.io/', limit: 0 });
  assert.equal(leases.remaining, HOSTS);
}

/** The Leases of all hosts, renewed as the server does it each minute. */
function heartbeats(nowMs: number): TxnRequest {
  const renewTime = new Date(nowMs).toISOString().replace('Z', '000Z');
  const puts = Array.from({ length: HOSTS }, (_, i) => ({
    key: `coordination.k8s.io/leases/coppice-system/host-mac-${i}`,
    value: encodeStored({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: `host-mac-${i}`,
        namespace: 'coppice-system',
        uid: '1b4e28ba-2fa1-11d2-883f-0016d3cca427',
        resourceVersion: '',
        creationTimestamp: '2026-01-01T00:00:00Z',
        generation: 1,
      },
      spec: { holderIdentity: 'up-machine', leaseDurationSeconds: 60, renewTime },
    }),
  }));
  return { compares: [], puts, deletes: [] };
}

/** A compactor on a clock of its own. */
class World implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;

  constructor(store: Store) {
    this.#running = keepCompacting({ store, clock: this.clock, log: silentLogger }, this.#ending.signal);
  }

  /** Lets time pass, and the compaction that this sets off end. */
  async pass(ms: number): Promise<void> {
    await until('the compactor waits for the clock', () => this.clock.waiting > 0);
    await this.clock.advance(ms);
    await quiesce();
    await until('the compactor waits for the clock', () => this.clock.waiting > 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error('the test is over'));
    await this.#running;
  }
}

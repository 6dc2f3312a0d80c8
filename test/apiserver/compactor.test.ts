import assert from 'node:assert/strict';
import { keepCompacting } from '../../apiserver/compactor.ts';
import { MemoryStore } from '../../apiserver/store/memory/store.ts';
import { type Store, StoreError } from '../../apiserver/store/store.ts';
import { type Logger, silentLogger } from '../../resources/ambient/log.ts';
import { ManualClock } from '../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { EtcdServer, needEtcd } from '../harness/etcd-server.ts';
import { quiesce } from '../harness/eventually.ts';
import { until } from '../harness/until.ts';
import { EtcdHome } from './store/etcd-home.ts';
import { write } from './store/store-maker.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const MIB = 1 << 20;

describe('the compactor', () => {
  it('forgets history that is older than five minutes, and none that is younger', async () => {
    await using world = await World.memory();
    for (let minute = 1; minute <= 12; minute++) {
      await write(world.store, { put: { a: `${minute}` } });
      await world.pass(MINUTE);
    }
    const compacted = world.store.compactedRevision();
    assert.ok(compacted === 6 || compacted === 7, `at ${compacted}`);
  });

  it('does nothing while nothing is written', async () => {
    await using world = await World.memory();
    await write(world.store, { put: { a: '1' } });
    await world.pass(30 * MINUTE);
    await write(world.store, { put: { a: '2' } });
    await world.pass(30 * MINUTE);
    assert.deepEqual(world.compactions, [1, 2]);
  });

  it('forgets sooner when much is written, but nothing of the last five seconds', async () => {
    await using world = await World.memory();
    const value = 'x'.repeat(MIB);
    const at: number[] = [];
    for (let second = 0; second < 60; second++) {
      at.push(await write(world.store, { put: { a: value } }));
      await world.pass(SECOND);
      const { store } = world;
      const kept = store.revision() - store.compactedRevision();
      assert.ok(second < 30 || kept <= 16 + 4 + 2, `${kept} MiB of history`);
      assert.ok(store.compactedRevision() <= (at[Math.max(0, second - 4)] ?? 0));
    }
    assert.ok(world.compactions.length > 5);
  });

  it('says why it could not, and tries again', async () => {
    const said: string[] = [];
    const log: Logger = { ...silentLogger, error: (message, fields) => said.push(`${message}: ${fields?.error}`) };
    await using world = await World.memory(log);
    await write(world.store, { put: { a: '1' } });
    world.failure = new StoreError('NoSpace', 'full');
    await world.pass(7 * MINUTE);
    assert.match(said[0] ?? '', /^history not compacted: .*full/);
    assert.ok(said.length <= 2, `said ${said.length} times in two minutes`);
    world.failure = undefined;
    await world.pass(MINUTE);
    assert.equal(world.store.compactedRevision(), 1);
  });
});

describe('the compactors of several servers on one etcd', () => {
  before(function () {
    needEtcd(this);
  });

  it('leave it to one of them, and go on when that one is gone', async function () {
    this.timeout(60_000);
    await using etcd = await EtcdServer.start();
    await using home = new EtcdHome(etcd);
    await using first = new World(await home.open());
    const stores = [await home.open(), await home.open()];
    const others = stores.map((store) => new World(store));
    const worlds = [first, ...others];
    // Servers do not start at one moment.
    for (const [i, world] of worlds.entries()) await world.pass(i * 7 * SECOND);
    const round = async (writing: Store, servers: readonly World[]) => {
      const revision = await write(writing, { put: { a: 'x' } });
      await until('all have seen it', () => servers.every(({ store }) => store.revision() >= revision));
      for (const world of servers) await world.pass(MINUTE);
    };
    for (let minute = 0; minute < 15; minute++) await round(first.store, worlds);
    const counts = worlds.map((world) => world.compactions.length);
    const total = counts.reduce((sum, count) => sum + count, 0);
    assert.ok(total >= 9 && total <= 12, `compacted ${counts.join(', ')} times in 15 minutes`);

    const most = counts.indexOf(Math.max(...counts));
    const left = worlds.filter((_, i) => i !== most);
    await worlds[most]?.stop();
    const before = left.flatMap(({ compactions }) => compactions).length;
    const [survivor] = left;
    assert.ok(survivor !== undefined);
    for (let minute = 0; minute < 5; minute++) await round(survivor.store, left);
    const after = left.flatMap(({ compactions }) => compactions).length - before;
    assert.ok(after >= 3 && after <= 6, `compacted ${after} times in 5 minutes`);
    for (const world of left) await world.stop();
  });
});

/** A compactor on a clock of its own. */
class World implements AsyncDisposable {
  readonly store: Store;
  readonly clock = new ManualClock();
  readonly compactions: number[] = [];
  failure: StoreError | undefined;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;

  static async memory(log = silentLogger): Promise<World> {
    return new World(await MemoryStore.open({ ids: systemIds }), log);
  }

  constructor(store: Store, log = silentLogger) {
    this.store = store;
    const compact = store.compact.bind(store);
    store.compact = async (revision, signal) => {
      if (this.failure !== undefined) throw this.failure;
      await compact(revision, signal);
      this.compactions.push(revision);
    };
    this.#running = keepCompacting({ store, clock: this.clock, log }, this.#ending.signal);
  }

  /** Lets time pass, and whatever that sets off come to its end. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 2 * SECOND) {
      await this.clock.advance(Math.min(left, 2 * SECOND));
      await quiesce();
      await until('it waits for the clock', () => this.clock.waiting > 0);
    }
  }

  async stop(): Promise<void> {
    this.#ending.abort(new Error('the test is over'));
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.store[Symbol.asyncDispose]();
  }
}

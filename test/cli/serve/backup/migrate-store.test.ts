import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreError } from '../../../../apiserver/store/store.ts';
import { systemIds } from '../../../../resources/ambient/system-ids.ts';
import { write } from '../../../apiserver/store/store-maker.ts';
import { EtcdServer, needEtcd } from '../../../harness/etcd-server.ts';
import { CliFolder } from '../../../harness/run-cli.ts';
import { contentOf, coppice, etcdPlace, fill, homePlace, type StorePlace } from './store-places.ts';

const KILLS = Number(process.env.COPPICE_KILLS ?? 3);

describe('coppice migrate-store', function () {
  this.timeout(300_000);
  let etcd: EtcdServer;
  let folder: CliFolder;
  let home: string;
  let root: string;
  before(async function () {
    needEtcd(this);
    etcd = await EtcdServer.start();
  });
  after(() => etcd?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    folder = await CliFolder.make();
    home = join(folder.path, 'home');
    root = `move-${systemIds.suffix(8)}`;
  });
  afterEach(() => folder[Symbol.asyncDispose]());

  const endpoint = () => etcd.endpoint;
  const toEtcd = () => ['migrate-store', '--home', home, '--to-etcd', endpoint(), '--to-etcd-root', root];
  const fromEtcd = (to: string) => [
    'migrate-store',
    '--home',
    to,
    '--etcd',
    endpoint(),
    '--etcd-root',
    root,
    '--to-sqlite',
  ];
  const run = async (...argv: string[]) => {
    const { code, stdout, stderr } = await folder.run(argv);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const refused = async (...argv: string[]) => {
    const { code, stderr } = await folder.run(argv);
    assert.equal(code, 1, `${argv.join(' ')} was not refused`);
    return stderr;
  };
  const identity = async (place: StorePlace) => {
    await using store = await place.open();
    return { uid: store.uid, revision: store.revision() };
  };

  it('takes everything to etcd, where it is the same store and goes on', async () => {
    const [old, moved] = [homePlace(home), etcdPlace(etcd, root)];
    await fill(old, 300);
    const [before, content] = [await identity(old), await contentOf(old)];
    const said = await run(...toEtcd());
    assert.match(
      said,
      new RegExp(`^moved 300 objects and records of store ${before.uid} from \\S+/state.db to etcd at`),
    );
    assert.deepEqual(await contentOf(moved), content);
    const after = await identity(moved);
    assert.equal(after.uid, before.uid);
    await using store = await moved.open();
    for (const { key, modRevision } of (await store.range({ prefix: '' })).entries)
      assert.ok(modRevision > before.revision, `${key} is at ${modRevision}`);
    assert.ok((await write(store, { put: { a: 'b' } })) > after.revision);
  });

  it('closes the home, tells where its store went, and moves it once only', async () => {
    await fill(homePlace(home), 3);
    await run(...toEtcd());
    const up = await refused('up', '--home', home, '--driver', 'sim', '--port', '0');
    assert.match(
      up,
      /^error: this store was moved to etcd at \S+ under move-\w+ on \d{4}-\d\d-\d\dT.*\nhint: serve from there/,
    );
    assert.match(await refused(...toEtcd()), /was moved to etcd at .* already$/m);
    assert.match(await refused('backup', 'x.backup', '--home', home, '--no-pki'), /was moved to etcd/);
    const elsewhere = ['migrate-store', '--home', home, '--to-etcd', endpoint(), '--to-etcd-root', `${root}-2`];
    assert.match(await refused(...elsewhere), /was moved to etcd at \S+ under move-\w+ on .*\nhint: .*--take-back/);
  });

  it('takes everything back from etcd, and closes it for those who are there', async () => {
    const [there, back] = [etcdPlace(etcd, root), homePlace(home)];
    await fill(there, 300);
    const [before, content] = [await identity(there), await contentOf(there)];
    await using open = await there.open();
    await run(...fromEtcd(home));
    assert.match(((await open.lost) satisfies StoreError).message, /identity of the store .* was changed/);
    assert.deepEqual(await contentOf(back), content);
    const after = await identity(back);
    assert.equal(after.uid, before.uid);
    assert.ok(after.revision >= before.revision);
    await assert.rejects(there.open(), /was moved to \S+state\.db on .*: serve from there/);
  });

  it('goes there and back, and revisions never go back', async () => {
    await fill(homePlace(home), 50);
    const first = await identity(homePlace(home));
    await run(...toEtcd());
    const second = await identity(etcdPlace(etcd, root));
    const other = join(folder.path, 'other');
    await run(...fromEtcd(other));
    const third = await identity(homePlace(other));
    assert.deepEqual([second.uid, third.uid], [first.uid, first.uid]);
    assert.ok(first.revision < second.revision && second.revision <= third.revision);
  });

  it('takes a moved store back when told to, and closes where it went', async () => {
    const [old, moved] = [homePlace(home), etcdPlace(etcd, root)];
    await fill(old, 5);
    const content = await contentOf(old);
    await run(...toEtcd());
    const takeBack = ['migrate-store', '--home', home, '--take-back'];
    assert.match(await refused(...takeBack), /two places must never serve the same store/);
    const wrong = [...takeBack, '--to-etcd', endpoint(), '--to-etcd-root', `${root}-other`];
    assert.match(await refused(...wrong), /the store went to .*, not to/);
    await run(...takeBack, '--to-etcd', endpoint(), '--to-etcd-root', root);
    assert.deepEqual([await old.served(), await moved.served()], [true, false]);
    assert.deepEqual(await contentOf(old), content);
    assert.match(await refused(...takeBack, '--force'), /was never moved/);
  });

  it('names the flags of the place it went to when that is away', async () => {
    const other = await EtcdServer.start();
    const to = ['--to-etcd', other.endpoint];
    try {
      await fill(homePlace(home), 1);
      await run('migrate-store', '--home', home, ...to);
    } finally {
      await other[Symbol.asyncDispose]();
    }
    assert.match(
      await refused('migrate-store', '--home', home, '--take-back', ...to),
      /^error: etcd does not answer at .*\nhint: .*--to-etcd$/m,
    );
  });

  it('refuses a place that has a store, and changes nothing', async () => {
    await fill(homePlace(home), 2);
    await fill(etcdPlace(etcd, root), 3);
    assert.match(await refused(...toEtcd()), /there is a store in etcd at .* already/);
    assert.match(await refused(...fromEtcd(home)), /there is a store at \S+state\.db already/);
    assert.equal((await contentOf(homePlace(home))).size, 2);
    assert.equal((await contentOf(etcdPlace(etcd, root))).size, 3);
  });

  it('refuses what is not there, and flags that do not fit', async () => {
    assert.match(await refused(...toEtcd()), /there is no store at \S+state\.db/);
    assert.match(await refused(...fromEtcd(home)), /there is no store under move-\w+ in etcd/);
    assert.match(await refused('migrate-store', '--home', home), /say where to: --to-etcd or --to-sqlite/);
    assert.match(await refused('migrate-store', '--home', home, '--to-sqlite'), /is in sqlite already/);
    assert.match(
      await refused('migrate-store', '--to-etcd-root', 'x'),
      /--to-etcd-root is for a store in etcd\nhint: add --to-etcd/,
    );
    await fill(homePlace(home), 1);
    const away = await refused('migrate-store', '--home', home, '--to-etcd', '127.0.0.1:1');
    assert.match(away, /^error: etcd does not answer at 127.0.0.1:1: connection refused\nhint: .*--to-etcd$/m);
    assert.match(await refused('migrate-store', '--to-etcd', 'x'), /--to-etcd: "x" is not HOST:PORT/);
  });

  for (const [way, there] of [
    ['to etcd', true],
    ['from etcd', false],
  ] as const) {
    it(`${way}, killed anywhere, never leaves two stores to serve from, and ends well when run again`, async () => {
      for (let round = 0; round < KILLS; round++) {
        root = `kill-${systemIds.suffix(8)}`;
        const [a, b] = [homePlace(home), etcdPlace(etcd, root)];
        const [source, target] = there ? [a, b] : [b, a];
        await fill(source, 2000);
        const [content, { uid }] = [await contentOf(source), await identity(source)];
        const command = there ? toEtcd() : fromEtcd(home);
        // From before it has begun to about when it ends by itself.
        for (let attempt = 1; ; attempt++) {
          const killAfterMs = attempt > 4 ? undefined : 250 + (((round * 4 + attempt) * 211) % 2200);
          const { code, output } = await coppice(command, killAfterMs);
          const [atSource, atTarget] = [await source.served(), await target.served()];
          assert.ok(!(atSource && atTarget), `both can be served from after ${killAfterMs} ms`);
          if (there) assert.ok(atSource || atTarget || code === null, output);
          if (atTarget) break;
          if (atSource) assert.deepEqual((await identity(source)).uid, uid);
          assert.ok(attempt <= 4, output);
        }
        assert.equal(await source.served(), false);
        assert.deepEqual(await contentOf(target), content);
        assert.equal((await identity(target)).uid, uid);
        await rm(home, { recursive: true, force: true });
      }
    });
  }
});

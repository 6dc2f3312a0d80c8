import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreGuard } from '../../nodelet/store-guard.ts';

describe('store guard', () => {
  let folder: string;
  let now: { uid: string; revision: number };
  const { signal } = new AbortController();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-guard-'));
    now = { uid: 'one', revision: 1000 };
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const open = (trustedStore?: string) =>
    new StoreGuard({
      root: join(folder, 'mac-1'),
      storeIdentity: async () => now,
      trustedStore: () => trustedStore,
    });
  const file = () => join(folder, 'mac-1', 'store.json');
  const trusts = async (guard: StoreGuard) => (await guard.check(signal)).trusted;

  it('trusts the first store it meets, and that store as it grows', async () => {
    const guard = open();
    assert.equal(guard.trust, undefined);
    assert.equal(await trusts(guard), true);
    now = { uid: 'one', revision: 5000 };
    assert.equal(await trusts(guard), true);
    assert.equal(await trusts(open()), true);
    assert.deepEqual(JSON.parse(await readFile(file(), 'utf8')), now);
  });

  it('distrusts another store, and names both', async () => {
    await open().check(signal);
    now = { uid: 'two', revision: 9000 };
    const trust = await open().check(signal);
    assert.ok(!trust.trusted && /the store is two, before it was one/.test(trust.message));
  });

  it('distrusts an earlier revision, to the last one it saw itself', async () => {
    const guard = open();
    await guard.check(signal);
    now = { uid: 'one', revision: 1010 };
    await guard.check(signal);
    now = { uid: 'one', revision: 1009 };
    const trust = await guard.check(signal);
    assert.ok(!trust.trusted && /is at revision 1009, before it was at 1010/.test(trust.message));
  });

  it('distrusts an earlier revision after a restart', async () => {
    await open().check(signal);
    now = { uid: 'one', revision: 999 };
    assert.equal(await trusts(open()), false);
  });

  it('distrusts after a restart what is earlier than what it kept, by one revision too', async () => {
    const guard = open();
    await guard.check(signal);
    now = { uid: 'one', revision: 1010 };
    await guard.keep(signal);
    now = { uid: 'one', revision: 1009 };
    assert.equal(await trusts(open()), false);
  });

  it('keeps nothing of a store it does not trust', async () => {
    await open().check(signal);
    now = { uid: 'two', revision: 9000 };
    const guard = open();
    await guard.keep(signal);
    assert.equal(JSON.parse(await readFile(file(), 'utf8')).uid, 'one');
    assert.equal(await trusts(open()), false);
  });

  it('stays distrustful when the revision grows past what was seen, over restarts too, in the same words', async () => {
    await open().check(signal);
    now = { uid: 'one', revision: 5 };
    const guard = open();
    const first = await guard.check(signal);
    now = { uid: 'one', revision: 50_000 };
    assert.deepEqual(await guard.check(signal), first);
    assert.deepEqual(await open().check(signal), first);
  });

  it('trusts again once acknowledged, or once the file is removed', async () => {
    const guard = open();
    await guard.check(signal);
    now = { uid: 'two', revision: 5 };
    assert.equal(await trusts(guard), false);
    await guard.acknowledge();
    assert.equal(await trusts(guard), true);
    now = { uid: 'three', revision: 5 };
    assert.equal(await trusts(guard), false);
    await rm(file());
    assert.equal(await trusts(guard), true);
    assert.equal(await trusts(open()), true);
  });

  it('distrusts any store while its file cannot be understood, and says what to do', async () => {
    await open().check(signal);
    for (const text of ['{"uid":', '{}', '[]']) {
      await writeFile(file(), text);
      const trust = await open().check(signal);
      assert.ok(!trust.trusted && /store.json holds no uid and revision; nothing is stopped/.test(trust.message));
      // The token an operator is told of holds, over restarts too.
      now = { uid: now.uid, revision: now.revision + 10 };
      assert.deepEqual(await open().check(signal), trust);
      assert.equal(await trusts(open(trust.token)), true);
    }
  });

  const tokenNow = async () => {
    const trust = await open().check(signal);
    return trust.trusted ? assert.fail('it is trusted') : trust.token;
  };

  it('trusts another store by the token of the moment it was noticed, and as it grows', async () => {
    await open().check(signal);
    now = { uid: 'two', revision: 5 };
    const token = await tokenNow();
    assert.equal(token, 'two@5');
    now = { uid: 'two', revision: 50 };
    for (const other of [undefined, '', 'two', 'two@50', 'one@1000', 'two@4'])
      assert.equal(await trusts(open(other)), false);
    assert.equal(await trusts(open(token)), true);
    assert.equal(await trusts(open()), true);
  });

  it('takes no token twice: a store that is put back again is noticed again', async () => {
    await open().check(signal);
    now = { uid: 'one', revision: 400 };
    const first = await tokenNow();
    now = { uid: 'one', revision: 450 };
    assert.equal(await trusts(open(first)), true);
    now = { uid: 'one', revision: 2000 };
    assert.equal(await trusts(open(first)), true);
    // A copy from after the acknowledgement, which therefore holds the token.
    now = { uid: 'one', revision: 420 };
    assert.equal(await trusts(open(first)), false);
    assert.equal(await tokenNow(), 'one@420');
  });

  it('takes no token of a store that was put back once more before it was acknowledged', async () => {
    await open().check(signal);
    now = { uid: 'one', revision: 400 };
    const first = await tokenNow();
    now = { uid: 'one', revision: 300 };
    assert.equal(await trusts(open(first)), false);
    now = { uid: 'two', revision: 9000 };
    assert.equal(await trusts(open(first)), false);
    assert.equal(await trusts(open('two@9000')), true);
  });

  it('decides nothing when the server cannot be asked', async () => {
    const guard = new StoreGuard({ root: folder, storeIdentity: () => Promise.reject(new Error('no server')) });
    await assert.rejects(guard.check(signal), /no server/);
    assert.equal(guard.trust, undefined);
  });
});

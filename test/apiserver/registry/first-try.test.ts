import assert from 'node:assert/strict';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { FarStore } from '../../harness/far-store.ts';
import { createVM, makeQuota } from '../../harness/quota-world.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const KEPT = `${CONFIG_MAPS}/kept`;

/** A store that others write to: what they acknowledged last has to be asked for, and is counted. */
class SharedStore extends FarStore {
  readonly #shared: MemoryStore;
  asked = 0;

  constructor(shared: MemoryStore) {
    super(shared);
    this.#shared = shared;
  }

  async latest(): Promise<number> {
    this.asked++;
    return this.#shared.revision();
  }
}

/** Two servers over one store: what is written by `other` is heard of at `here` when `release` is called. */
describe('the first try of a write where other servers write too', () => {
  let shared: MemoryStore;
  let store: SharedStore;
  let here: TestServer;
  let other: TestServer;
  before(async () => {
    shared = await MemoryStore.open({ ids: systemIds });
    store = new SharedStore(shared);
    other = await startTestServer({ store: shared });
    here = await startTestServer({ store });
    await makeQuota(other.server.app, 5);
  });
  after(async () => {
    await here[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
    await shared[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await send(other.server.app, 'POST', CONFIG_MAPS, { body: { metadata: { name: 'kept' }, data: { a: '1' } } });
    // Reading waits for what was acknowledged.
    await send(here.server.app, 'GET', KEPT);
    store.asked = 0;
  });

  const patch = (test: TestServer, data: object): Promise<RawAnswer> =>
    send(test.server.app, 'PATCH', KEPT, { body: { data }, headers: MERGE });

  it('asks nobody when the store can judge all that it rests on', async () => {
    assert.equal((await patch(here, { b: '2' })).status, 200);
    const body = { metadata: { name: 'fresh' } };
    assert.equal((await send(here.server.app, 'POST', CONFIG_MAPS, { body })).status, 201);
    assert.equal(store.asked, 0);
  });

  it('on what is old loses, and the second is on what is there', async () => {
    const release = store.hold();
    await patch(other, { theirs: 'yes' });
    const answered = patch(here, { ours: 'yes' });
    store.beforeTxn = async () => release();
    const { status, text } = await answered;
    store.beforeTxn = async () => {};
    const { theirs, ours } = JSON.parse(text).data;
    assert.deepEqual([status, theirs, ours], [200, 'yes', 'yes']);
  });

  it('refuses nothing, and finds nothing done, by what may be old', async () => {
    for (const what of ['a refusal', 'nothing to do']) {
      const release = store.hold();
      const { body: theirs } = await patch(other, { a: what });
      const { resourceVersion } = theirs.metadata as { resourceVersion: string };
      const wish = what === 'a refusal' ? { metadata: { resourceVersion }, data: { c: what } } : { data: { a: '1' } };
      const answered = send(here.server.app, 'PATCH', KEPT, { body: wish, headers: MERGE });
      release();
      const { status, text } = await answered;
      const { data } = JSON.parse(text);
      assert.deepEqual([status, { ...data, ...wish.data }], [200, data], what);
      assert.ok(store.asked > 0, what);
      store.asked = 0;
      await patch(other, { a: '1' });
      await send(here.server.app, 'GET', KEPT);
    }
  });

  it('asks first where other objects have a say', async () => {
    assert.equal((await createVM(here.server.app, 'one')).status, 201);
    assert.ok(store.asked > 0);
  });

  it('tried dry asks, for no store judges it', async () => {
    const url = `${KEPT}?dryRun=All`;
    assert.equal(
      (await send(here.server.app, 'PATCH', url, { body: { data: { d: '4' } }, headers: MERGE })).status,
      200,
    );
    assert.ok(store.asked > 0);
  });
});

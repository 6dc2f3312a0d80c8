import assert from 'node:assert/strict';
import { tokenHash } from '../../../apiserver/auth/bearer-tokens.ts';
import { OPERATOR } from '../../../apiserver/auth/identity.ts';
import { ApiClient } from '../../../apiserver/client/client.ts';
import { forgetDue } from '../../../apiserver/idempotency/forget-answers.ts';
import { KEPT_MS } from '../../../apiserver/idempotency/kept-answer.ts';
import { newServiceAccountKey } from '../../../apiserver/pki/service-account-key.ts';
import { Sealer } from '../../../apiserver/sealing/sealer.ts';
import { sealingKeyId } from '../../../apiserver/sealing/sealing-key-id.ts';
import { type ApiServer, startApiServer } from '../../../apiserver/server.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Secret } from '../../../resources/kinds/secret.ts';
import { eventually } from '../../harness/eventually.ts';
import { send } from '../../harness/raw.ts';

const [OLD, NEW] = ['1a'.repeat(32), '2b'.repeat(32)];
const idOf = (key: string) => sealingKeyId(Buffer.from(key, 'hex'));
const account = newServiceAccountKey();

describe('sealing anew', function () {
  this.timeout(120_000);
  let clock: ManualClock;
  let store: Store;
  beforeEach(async () => {
    clock = new ManualClock();
    store = await MemoryStore.open({ ids: systemIds });
  });
  afterEach(() => store[Symbol.asyncDispose]());

  const serve = (sealingKeys: readonly string[], more: object = {}) =>
    startApiServer({
      store,
      operatorTokenHash: tokenHash('token'),
      serviceAccountKey: account,
      sealingKeys,
      name: 'test',
      clock,
      ids: systemIds,
      random: () => 0.5,
      log: silentLogger,
      platform: { platform: 'linux/amd64', runtime: 'test' },
      ...more,
    });
  const use = (server: ApiServer, ...sealingKeys: readonly string[]) =>
    server.keys.use({ operatorTokens: [], serviceAccountKey: account, sealingKeys });
  const secretsOf = (server: ApiServer) =>
    new ApiClient(server.transportFor(OPERATOR)).resource<Secret>(Secret, 'default');
  const aSecret = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    immutable: true,
    stringData: { k: name },
  });
  /** How many values in the store are sealed with which key. */
  const seals = async () => {
    const { entries } = await store.range({ prefix: '' });
    const ids = entries.map(({ value }) => Sealer.keyIdOf(value)).filter((id) => id !== undefined);
    return {
      revision: store.revision(),
      old: ids.filter((id) => id === idOf(OLD)).length,
      new: ids.filter((id) => id === idOf(NEW)).length,
    };
  };

  it('leaves nothing under the old key, and every Secret as it was but for its resourceVersion', async () => {
    await using server = await serve([OLD]);
    const secrets = secretsOf(server);
    const names = Array.from({ length: 45 }, (_, n) => `s${n}`);
    for (const name of names) await secrets.create(aSecret(name));
    const before = await secrets.list();
    use(server, OLD, NEW);
    await eventually(clock, 'it was counted', () => server.keys.behind === 0);
    assert.partialDeepStrictEqual(
      await seals(),
      { old: 45, new: 0 },
      'the next key is not used before it is the first',
    );
    use(server, NEW, OLD);
    await eventually(clock, 'all is sealed anew', () => server.keys.behind === 0);
    assert.partialDeepStrictEqual(await seals(), { old: 0, new: 45 });
    const after = await secrets.list();
    const bare = (items: readonly Secret[]) =>
      items.map(({ metadata: { resourceVersion: _, ...metadata }, ...rest }) => ({ ...rest, metadata }));
    assert.deepEqual(bare(after.items), bare(before.items));
    for (const [n, { metadata }] of after.items.entries())
      assert.ok(Number(metadata.resourceVersion) > Number(before.items[n]?.metadata.resourceVersion), metadata.name);
  });

  it('tells watchers of each, once, and of the same content', async () => {
    await using server = await serve([OLD]);
    const secrets = secretsOf(server);
    const made = await secrets.create(aSecret('watched'));
    use(server, NEW, OLD);
    await eventually(clock, 'all is sealed anew', () => server.keys.behind === 0);
    const events = server.parts.cache.resource('core/secrets').since(Number(made.metadata.resourceVersion)) ?? [];
    assert.deepEqual(
      events.map(({ current, removed }) => [current.object.metadata.name, removed, current.object.data]),
      [['watched', false, { k: btoa('watched') }]],
    );
  });

  it('goes on where it was stopped, and a server with the new key alone starts then', async () => {
    {
      await using server = await serve([OLD]);
      for (let n = 0; n < 45; n++) await secretsOf(server).create(aSecret(`s${n}`));
      use(server, NEW, OLD);
      // It rests after twenty, and the clock stands still.
      await eventually(clock, 'some are sealed anew', async () => (await seals()).new > 0, 0);
    }
    const half = await seals();
    assert.ok(half.old > 0 && half.new > 0, JSON.stringify(half));
    await assert.rejects(serve([NEW]), { name: 'MissingKeyError' });
    {
      await using server = await serve([NEW, OLD]);
      await eventually(clock, 'all is sealed anew', () => server.keys.behind === 0);
    }
    // History still has what was sealed with the old key. Nobody is told of it.
    await using server = await serve([NEW]);
    assert.deepEqual((await secretsOf(server).get('s7')).data, { k: btoa('s7') });
    assert.equal(server.parts.cache.resource('core/secrets').since(half.revision), undefined);
  });

  it('takes the answers along that are kept for Idempotency-Keys, and they are forgotten in their time', async () => {
    await using server = await serve([OLD]);
    const url = '/api/v1/namespaces/default/secrets';
    const post = () => send(server.app, 'POST', url, { headers: { 'idempotency-key': 'k' }, body: aSecret('a') });
    const first = await post();
    assert.equal(first.status, 201);
    use(server, NEW, OLD);
    await eventually(clock, 'all is sealed anew', () => server.keys.behind === 0);
    assert.partialDeepStrictEqual(await seals(), { old: 0, new: 2 });
    const again = await post();
    assert.deepEqual([again.headers['idempotency-replayed'], again.body], ['true', first.body]);
    await clock.advance(KEPT_MS);
    await forgetDue({ store, codec: server.parts.cache.codec, clock }, AbortSignal.timeout(10_000));
    assert.equal((await store.range({ prefix: 'idempotency/', limit: 0 })).remaining, 0);
  });

  it('works beside a server that has not heard of the new key: it looks for the key before it gives a Secret up', async () => {
    let reads = 0;
    const rereadKeys = () => {
      reads++;
      return { operatorTokens: [], serviceAccountKey: account, sealingKeys: [NEW, OLD] };
    };
    await using late = await serve([OLD], { rereadKeys });
    await using server = await serve([NEW, OLD]);
    await secretsOf(server).create(aSecret('fresh'));
    assert.deepEqual((await secretsOf(late).get('fresh')).data, { k: btoa('fresh') });
    assert.equal(reads, 1);
  });

  it('never loses a Secret: what a server that is late seals with a key that was taken away is still opened, and sealed anew', async () => {
    await using server = await serve([OLD]);
    await using late = await serve([OLD]);
    use(server, NEW);
    await secretsOf(late).create(aSecret('a'));
    assert.deepEqual((await secretsOf(server).get('a')).data, { k: btoa('a') });
    await eventually(clock, 'it is sealed anew', async () => (await seals()).new === 1);
    await using later = await serve([NEW]);
    assert.deepEqual((await secretsOf(later).get('a')).data, { k: btoa('a') });
  });
});

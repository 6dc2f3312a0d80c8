import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenHash } from '../../../apiserver/auth/bearer-tokens.ts';
import { OPERATOR } from '../../../apiserver/auth/identity.ts';
import { storeKey } from '../../../apiserver/cache/keys.ts';
import { UNREADABLE_ANNOTATION } from '../../../apiserver/cache/object-codec.ts';
import { ApiClient } from '../../../apiserver/client/client.ts';
import { startApiServer } from '../../../apiserver/server.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { SqliteStore } from '../../../apiserver/store/sqlite/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { ConfigMap } from '../../../resources/kinds/config-map.ts';
import { Secret } from '../../../resources/kinds/secret.ts';
import { send } from '../../harness/raw.ts';
import { SEALING_KEY } from '../../harness/server.ts';

const HUSH = 'nobody-may-read-this';
const OTHER_KEY = 'c0'.repeat(32);

const serve = (store: Store, sealingKeys: readonly string[] = [SEALING_KEY]) =>
  startApiServer({
    store,
    operatorTokenHash: tokenHash('token'),
    sealingKeys,
    name: 'test',
    clock: systemClock,
    ids: systemIds,
    random: () => 0.5,
    log: silentLogger,
    platform: { platform: 'linux/amd64', runtime: 'test' },
  });

const secretsOf = (server: Awaited<ReturnType<typeof serve>>) =>
  new ApiClient(server.transportFor(OPERATOR)).resource<Secret>(Secret, 'default');

const aSecret = (name: string, value = HUSH) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"k":"${value}"}` } },
  stringData: { k: value },
});

const keyOf = (name: string) => storeKey(Secret, 'default', name);

/** Writes other bytes under a key. */
async function overwrite(store: Store, key: string, change: (value: Uint8Array) => Uint8Array): Promise<void> {
  const there = await store.get(key);
  assert.ok(there);
  const compares = [{ key, revision: there.modRevision }];
  await store.txn({ compares, puts: [{ key, value: change(there.value) }], deletes: [] }).done;
}

const lastByteChanged = (value: Uint8Array) =>
  Uint8Array.from(value, (byte, i) => (i === value.length - 1 ? byte ^ 1 : byte));

describe('Secrets in the store', () => {
  it('are on no disk in the clear: neither as text nor in base64, after writes and after a restart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coppice-sealed-'));
    try {
      const path = join(folder, 'state.db');
      const everything = () => Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
      {
        await using store = await SqliteStore.open({ path, ids: systemIds });
        await using server = await serve(store);
        const secrets = secretsOf(server);
        await secrets.create(aSecret('a'));
        await secrets.patch('a', { metadata: { labels: { b: 'c' } } });
        const maps = new ApiClient(server.transportFor(OPERATOR)).resource<ConfigMap>(ConfigMap, 'default');
        await maps.create({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'a' },
          data: { k: 'in-the-clear' },
        });
        const bytes = everything();
        // The same search finds what is not sealed.
        assert.ok(bytes.includes('in-the-clear'));
        assert.equal(bytes.includes(HUSH), false);
        assert.equal(bytes.includes(btoa(HUSH)), false);
      }
      await using store = await SqliteStore.open({ path, ids: systemIds });
      await using server = await serve(store);
      assert.deepEqual((await secretsOf(server).get('a')).data, { k: btoa(HUSH) });
      assert.equal(everything().includes(HUSH), false);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('are read from history too', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    await using server = await serve(store);
    const secrets = secretsOf(server);
    const first = await secrets.create(aSecret('a', 'one'));
    await secrets.patch('a', { stringData: { k: 'two' } });
    const path = `${secrets.path()}?resourceVersion=${first.metadata.resourceVersion}&resourceVersionMatch=Exact`;
    const client = new ApiClient(server.transportFor(OPERATOR));
    const { items } = (await client.json({ method: 'GET', path, headers: {} })) as { items: Secret[] };
    assert.deepEqual(items[0]?.data, { k: btoa('one') });
  });

  it('keep a server without their key from starting', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    {
      await using server = await serve(store);
      await secretsOf(server).create(aSecret('a'));
    }
    await assert.rejects(serve(store, [OTHER_KEY]), /the store holds Secrets sealed with another key \([0-9a-f]{16}\)/);
    await using server = await serve(store, [OTHER_KEY, SEALING_KEY]);
    assert.deepEqual((await secretsOf(server).get('a')).data, { k: btoa(HUSH) });
  });

  it('when damaged are refused by name, hold up nobody else, and can be deleted', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    {
      await using server = await serve(store);
      const secrets = secretsOf(server);
      await secrets.create(aSecret('bad'));
      await secrets.create(aSecret('good'));
      // Before the eyes of a running server.
      await overwrite(store, keyOf('bad'), lastByteChanged);
      await server.parts.cache.caughtUp(AbortSignal.timeout(5_000));
      await assert.rejects(secrets.get('bad'), /secrets "default\/bad" cannot be read/);
      assert.ok(await secrets.get('good'));
    }
    await using server = await serve(store);
    const secrets = secretsOf(server);
    const refused = {
      reason: 'InternalError',
      code: 500,
      message: /^secrets "default\/bad" cannot be read: it is damaged/,
    };
    await assert.rejects(secrets.get('bad'), refused);
    const listed = await secrets.list();
    const shown = listed.items.map(({ metadata, data }) => [
      metadata.name,
      metadata.annotations?.[UNREADABLE_ANNOTATION] !== undefined,
      data,
    ]);
    assert.deepEqual(shown, [
      ['bad', true, undefined],
      ['good', false, { k: btoa(HUSH) }],
    ]);
    const answer = await send(server.app, 'GET', secrets.path());
    assert.deepEqual(answer.headers.warning, ['299 - "cannot be read, only deleted: secrets default/bad"']);
    await assert.rejects(secrets.patch('bad', { stringData: { k: 'x' } }), refused);
    await assert.rejects(secrets.create(aSecret('bad')), { reason: 'AlreadyExists' });
    assert.deepEqual((await secrets.get('good')).data, { k: btoa(HUSH) });
    await secrets.delete('bad');
    assert.deepEqual(
      (await secrets.list()).items.map(({ metadata }) => metadata.name),
      ['good'],
    );
  });

  it('count for nothing when they are not sealed', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    await using server = await serve(store);
    const secrets = secretsOf(server);
    await secrets.create(aSecret('mine'));
    const forged = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mine', namespace: 'default' }, data: {} };
    await overwrite(store, keyOf('mine'), () => new TextEncoder().encode(JSON.stringify(forged)));
    await server.parts.cache.caughtUp(AbortSignal.timeout(5_000));
    await assert.rejects(secrets.get('mine'), /it is not sealed/);
  });

  it('leave nothing of themselves with the answers that are kept for Idempotency-Keys', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    await using server = await serve(store);
    const headers = { 'idempotency-key': 'once' };
    const body = { ...aSecret('kept'), stringData: { pin: '4711' }, [HUSH]: 'misplaced' };
    const url = secretsOf(server).path();
    const first = await send(server.app, 'POST', url, { headers, body });
    assert.equal(first.status, 201);
    const { entries } = await store.range({ prefix: 'idempotency/answers/' });
    assert.equal(entries.length, 1);
    const text = Buffer.from(entries[0]?.value ?? []).toString('latin1');
    const digest = createHash('sha256').update(JSON.stringify(body)).digest('base64url');
    assert.ok(!text.includes(HUSH) && !text.includes(digest));
    const again = await send(server.app, 'POST', url, { headers, body });
    assert.deepEqual([again.headers['idempotency-replayed'], again.body], ['true', first.body]);
  });

  it('cannot be read in the place of another', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    await using server = await serve(store);
    const secrets = secretsOf(server);
    await secrets.create(aSecret('mine', 'my-own'));
    await secrets.create(aSecret('theirs'));
    const theirs = (await store.get(keyOf('theirs')))?.value ?? new Uint8Array();
    await overwrite(store, keyOf('mine'), () => theirs);
    await server.parts.cache.caughtUp(AbortSignal.timeout(5_000));
    await assert.rejects(secrets.get('mine'), { code: 500 });
  });
});

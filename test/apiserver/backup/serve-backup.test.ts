import assert from 'node:assert/strict';
import {
  ANONYMOUS,
  controllerIdentity,
  hostIdentity,
  serviceAccountIdentity,
} from '../../../apiserver/auth/identity.ts';
import { BackupError } from '../../../apiserver/backup/backup-format.ts';
import { readBackup } from '../../../apiserver/backup/read-backup.ts';
import { servedBackup, storeBackup } from '../../../apiserver/backup/serve-backup.ts';
import type { ApiClient } from '../../../apiserver/client/client.ts';
import type { KeyValue } from '../../../apiserver/store/copy/fill-store.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';
import { write } from '../store/store-maker.ts';

const { signal } = new AbortController();

async function keysOf(lines: AsyncIterable<Uint8Array>): Promise<KeyValue[]> {
  const keys: KeyValue[] = [];
  for await (const record of readBackup(lines)) if (record.kind === 'keys') keys.push(...record.entries);
  return keys;
}

describe('the server’s backup', () => {
  let world: TestServer;
  beforeEach(async () => {
    world = await startTestServer();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const ask = async (client: ApiClient, method = 'GET', path = '/backup') => {
    const response = await client.send({ method, path });
    return { status: response.status, keys: () => keysOf(response.body) };
  };

  it('is everything in the store, Secrets sealed', async () => {
    const secrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
    await world.client
      .resource(secrets, 'default')
      .create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { word: 'aHVzaC1odXNo' } } as never);
    const answer = await ask(world.client);
    assert.equal(answer.status, 200);
    const keys = await answer.keys();
    const { entries } = await world.store.range({ prefix: '' });
    assert.deepEqual(
      keys.map(({ key, value }) => [key, Buffer.from(value).toString('hex')]),
      entries.map(({ key, value }) => [key, Buffer.from(value).toString('hex')]),
    );
    const secret = keys.find(({ key }) => key.endsWith('/default/s'));
    assert.ok(secret !== undefined && !Buffer.from(secret.value).includes('aHVzaC1odXNo'));
  });

  it('has no tokens that are good once', async () => {
    const prefixes = ['enrollment/tokens/', 'join/tokens/'];
    await write(world.store, { put: Object.fromEntries(prefixes.map((prefix) => [`${prefix}ab`, '{}'])) });
    const keys = (await (await ask(world.client)).keys()).map(({ key }) => key);
    const { entries } = await world.store.range({ prefix: '' });
    assert.deepEqual(
      entries.map(({ key }) => key).filter((key) => !keys.includes(key)),
      ['enrollment/tokens/ab', 'join/tokens/ab'],
    );
  });

  it('is for operators only', async () => {
    for (const who of [
      hostIdentity('mac-1'),
      controllerIdentity('garbage'),
      serviceAccountIdentity('default', 'default'),
      ANONYMOUS,
    ])
      assert.equal((await ask(world.as(who))).status, 403, who.user);
  });

  it('is got, nothing else, and has nothing below it', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'])
      assert.equal((await ask(world.client, method)).status, 405);
    assert.equal((await ask(world.client, 'GET', '/backup/x')).status, 404);
  });
});

describe('a backup of a store that is written to', () => {
  it('holds one moment of it', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    for (let i = 0; i < 400; i++) await write(store, { put: { [`k/${String(i).padStart(4, '0')}`]: 'before' } });
    const lines = storeBackup({ store, clock: new ManualClock(), product: 'test', files: [] }, signal);
    const pieces: Buffer[] = [];
    for await (const piece of lines) {
      pieces.push(piece);
      await write(store, { put: { 'k/0399': 'after', [`new/${pieces.length}`]: 'x' }, delete: ['k/0398'] });
    }
    assert.ok(pieces.length > 4, 'it came in one piece');
    const keys = await keysOf(one(pieces));
    assert.equal(keys.length, 400);
    assert.ok(keys.every(({ value }) => Buffer.from(value).toString() === 'before'));
  });

  it('says so in its last line when its moment was forgotten, and that trying again may go better', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    for (let i = 0; i < 400; i++) await write(store, { put: { [`k/${i}`]: 'x' } });
    const lines = servedBackup({ store, clock: new ManualClock(), product: 'test', files: [] }, signal);
    const pieces: Buffer[] = [];
    for await (const piece of lines) {
      pieces.push(piece);
      if (pieces.length !== 2) continue;
      await store.compact(await write(store, { put: { more: 'x' } }));
    }
    await assert.rejects(keysOf(one(pieces)), (error: unknown) => {
      assert.ok(error instanceof BackupError && error.again, String(error));
      assert.match(error.message, /compacted away/);
      return true;
    });
  });
});

async function* one(pieces: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

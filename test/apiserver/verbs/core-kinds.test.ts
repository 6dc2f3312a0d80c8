import assert from 'node:assert/strict';
import { ConfigMap } from '../../../resources/kinds/config-map.ts';
import { Secret } from '../../../resources/kinds/secret.ts';
import { ServiceAccount } from '../../../resources/kinds/service-account.ts';
import { ApiError, type Cause } from '../../../resources/meta/api-error.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const MIB = 1 << 20;

describe('kinds of Kubernetes itself', () => {
  let test: TestServer;
  before(async () => {
    test = await startTestServer();
  });
  after(() => test[Symbol.asyncDispose]());

  let made = 0;
  const next = () => ({ name: `a-${made++}` });
  const configMap = (fields: JsonObject) =>
    test.client.resource<ConfigMap>(ConfigMap, 'default').create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: next(),
      ...fields,
    });
  const secret = (fields: JsonObject) =>
    test.client.resource<Secret>(Secret, 'default').create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: next(),
      ...fields,
    });
  const causesOf = async (write: Promise<unknown>): Promise<readonly Cause[]> => {
    const error = await write.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ApiError, 'accepted');
    assert.equal(error.reason, 'Invalid', error.message);
    return error.details?.causes ?? [];
  };
  const fieldsOf = async (write: Promise<unknown>) => (await causesOf(write)).map(({ field }) => field);
  const refusal = async (write: Promise<unknown>) => {
    const error = await write.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ApiError, 'accepted');
    return `${error.code} ${error.message}`;
  };

  describe('ConfigMap', () => {
    it('has no generation, and leaves out what is empty', async () => {
      const { data, binaryData, metadata } = await configMap({ data: {}, binaryData: null });
      assert.deepEqual([data, binaryData, metadata.generation], [undefined, undefined, undefined]);
    });

    it('keeps empty values and an immutable that is false', async () => {
      const { data, immutable } = await configMap({ data: { e: '' }, immutable: false });
      assert.deepEqual([data, immutable], [{ e: '' }, false]);
    });

    it('counts the bytes of text and of binary values together', async () => {
      const half = 'x'.repeat(MIB / 2);
      await configMap({ data: { a: half }, binaryData: { b: btoa(half) } });
      assert.deepEqual(await fieldsOf(configMap({ data: { a: `${half}x` }, binaryData: { b: btoa(half) } })), ['[]']);
      const wide = 'é'.repeat(MIB / 2);
      await configMap({ data: { a: wide } });
      assert.deepEqual(await fieldsOf(configMap({ data: { a: `${wide}x` } })), ['[]']);
    });

    it('refuses keys that are no file names, and keys that are there twice', async () => {
      assert.deepEqual(await fieldsOf(configMap({ data: { '..a': '' }, binaryData: { '.': '', 'a b': '' } })), [
        'data[..a]',
        'binaryData[.]',
        'binaryData[a b]',
      ]);
      assert.deepEqual(await fieldsOf(configMap({ data: { k: '' }, binaryData: { k: '' } })), ['data[k]']);
    });

    it('takes values of the right types only', async () => {
      assert.match(
        await refusal(configMap({ data: { k: true } })),
        /^400 .*cannot unmarshal bool into .* of type string$/,
      );
      assert.match(await refusal(configMap({ binaryData: { k: 'AAE' } })), /^400 .*illegal base64 data/);
      assert.match(await refusal(configMap({ immutable: 'yes' })), /^400 .*ConfigMap\.immutable of type bool$/);
    });

    it('once immutable keeps both maps and stays so', async () => {
      const { metadata } = await configMap({ data: { k: 'v' }, immutable: true });
      const patch = (change: JsonObject) =>
        test.client.resource<ConfigMap>(ConfigMap, 'default').patch(metadata.name, change);
      assert.deepEqual(await fieldsOf(patch({ data: { k: 'w' }, binaryData: { b: 'AA==' }, immutable: false })), [
        'immutable',
        'data',
        'binaryData',
      ]);
      assert.deepEqual((await patch({ metadata: { labels: { a: 'b' } } })).metadata.labels, { a: 'b' });
    });
  });

  describe('Secret', () => {
    it('writes stringData into data as UTF-8', async () => {
      const { data, stringData, type } = await secret({ data: { a: 'YQ==' }, stringData: { a: 'é', b: '' } });
      assert.deepEqual([data, stringData, type], [{ a: 'w6k=', b: '' }, undefined, 'Opaque']);
    });

    it('takes stringData on updates too', async () => {
      const { metadata } = await secret({ stringData: { a: 'x' } });
      const patched = await test.client
        .resource<Secret>(Secret, 'default')
        .patch(metadata.name, { stringData: { b: 'y' } });
      assert.deepEqual(patched.data, { a: 'eA==', b: 'eQ==' });
    });

    const types: [string, JsonObject, string[]][] = [
      ['kubernetes.io/service-account-token', {}, ['metadata.annotations[kubernetes.io/service-account.name]']],
      ['kubernetes.io/dockercfg', {}, ['data[.dockercfg]']],
      [
        'kubernetes.io/dockerconfigjson',
        { stringData: { '.dockerconfigjson': '{"a":}' } },
        ['data[.dockerconfigjson]'],
      ],
      ['kubernetes.io/dockerconfigjson', { stringData: { '.dockerconfigjson': '{"a":1}' } }, []],
      ['kubernetes.io/basic-auth', { stringData: { password: '' } }, []],
      ['kubernetes.io/ssh-auth', { stringData: { 'ssh-privatekey': '' } }, ['data[ssh-privatekey]']],
      ['kubernetes.io/tls', {}, ['data[tls.crt]', 'data[tls.key]']],
      ['constructor', {}, []],
    ];
    for (const [type, fields, want] of types) {
      it(`of type ${type} with ${JSON.stringify(fields)}: ${want.length === 0 ? 'accepted' : want}`, async () => {
        const written = secret({ type, ...fields });
        if (want.length === 0) await written;
        else assert.deepEqual(await fieldsOf(written), want);
      });
    }

    it('never tells a value in a refusal', async () => {
      const hush = 'hush-hush';
      const told = [
        await refusal(secret({ data: { k: `${hush}!` } })),
        await refusal(secret({ type: 'kubernetes.io/dockercfg', stringData: { '.dockercfg': `"${hush}` } })),
        await refusal(secret({ type: 'kubernetes.io/dockercfg', stringData: { '.dockercfg': hush } })),
        await refusal(secret({ stringData: { k: hush, 'a b': hush } })),
      ].join('\n');
      assert.doesNotMatch(told, /hush/);
      assert.equal(told.includes(btoa(hush)), false);
    });
  });

  it('ServiceAccount: a list without names, and the columns of all three', async () => {
    const accounts = test.client.resource<ServiceAccount>(ServiceAccount, 'default');
    const account = await accounts.create({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'robot' },
      secrets: [{ name: 'one' }],
      imagePullSecrets: [],
      automountServiceAccountToken: false,
    });
    assert.deepEqual(
      [account.secrets, account.imagePullSecrets, account.automountServiceAccountToken],
      [[{ name: 'one' }], undefined, false],
    );
  });

  it('items of lists do not say what they are, but the client knows', async () => {
    await configMap({ data: { here: 'yes' } });
    const raw = (await test.client.json({
      method: 'GET',
      path: '/api/v1/namespaces/default/configmaps',
      headers: { accept: 'application/json' },
    })) as { kind: string; items: JsonObject[] };
    assert.equal(raw.kind, 'ConfigMapList');
    assert.ok(raw.items.length > 0);
    assert.ok(raw.items.every((item) => item.kind === undefined && item.apiVersion === undefined && item.metadata));
    const { items } = await test.client.resource<ConfigMap>(ConfigMap, 'default').list();
    assert.ok(items.every(({ kind, apiVersion }) => kind === 'ConfigMap' && apiVersion === 'v1'));
  });
});

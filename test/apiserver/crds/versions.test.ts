import assert from 'node:assert/strict';
import { valueAt } from '../../../resources/meta/object.ts';
import { CRDS, CrdServer, definition, MERGE, schema, THING_CRD, THINGS, thing, version } from './crd-server.ts';

const V2 = '/apis/test.example.com/v2/things';
const text = { type: 'string' };
const both = { a: text, b: text };
const fields = (properties: object) => schema({ type: 'object', properties });
/** v1 knows `a` and `old`, v2 knows `a` and `b`, which has a default; objects are kept in v1. */
const TWO = [
  version('v1', { schema: fields({ a: text, old: text }) }),
  version('v2', { storage: false, schema: fields({ ...both, b: { ...text, default: 'made' } }) }),
];
const v1 = (name: string, spec: object) => thing(name, { spec });
const v2 = (name: string, spec: object) => ({ ...thing(name, { spec }), apiVersion: 'test.example.com/v2' });

describe('several versions of a kind', () => {
  it('are in discovery, the best first, and only while they are served', async () => {
    await using server = await CrdServer.start();
    const beta = version('v3beta1', { storage: false, served: false });
    await server.ok('POST', CRDS, definition({ versions: [...TWO, beta] }));
    const group = async () => {
      const { versions, preferredVersion } = await server.ok('GET', '/apis/test.example.com');
      return [(versions as { version: string }[]).map((one) => one.version), valueAt(preferredVersion, ['version'])];
    };
    assert.deepEqual(await group(), [['v2', 'v1'], 'v2']);
    assert.equal((await server.send('GET', '/apis/test.example.com/v3beta1/things')).status, 404);
    await server.ok('PATCH', THING_CRD, { spec: { versions: [...TWO, { ...beta, served: true }] } }, MERGE);
    assert.deepEqual(await group(), [['v2', 'v1', 'v3beta1'], 'v2']);
    await server.ok('GET', '/apis/test.example.com/v3beta1/things');
  });

  it('show the same object, each by its own schema', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition({ versions: TWO }));
    await server.ok('POST', THINGS, v1('x', { a: 'A', old: 'O' }));
    const shown = await server.ok('GET', `${V2}/x`);
    assert.deepEqual([shown.apiVersion, shown.spec], ['test.example.com/v2', { a: 'A', b: 'made' }]);
    const kept = await server.ok('GET', `${THINGS}/x`);
    assert.deepEqual([kept.apiVersion, kept.spec], ['test.example.com/v1', { a: 'A', old: 'O' }]);
    assert.deepEqual(
      [kept.metadata?.uid, kept.metadata?.resourceVersion],
      [shown.metadata?.uid, shown.metadata?.resourceVersion],
    );
    const list = await server.ok('GET', V2);
    assert.deepEqual(
      [list.apiVersion, valueAt(list.items?.[0], ['spec'])],
      ['test.example.com/v2', { a: 'A', b: 'made' }],
    );
  });

  it('write the same object: what the stored version does not know is dropped', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition({ versions: TWO }));
    const made = await server.ok('POST', V2, v2('x', { a: 'A', b: 'B' }));
    assert.deepEqual([made.apiVersion, made.spec], ['test.example.com/v2', { a: 'A', b: 'made' }]);
    assert.deepEqual((await server.ok('GET', `${THINGS}/x`)).spec, { a: 'A' });
    const patched = await server.ok('PATCH', `${V2}/x`, { spec: { a: 'AA' } }, MERGE);
    assert.deepEqual([patched.apiVersion, patched.spec], ['test.example.com/v2', { a: 'AA', b: 'made' }]);
    const put = await server.ok('PUT', `${V2}/x`, { ...patched, spec: { a: 'AAA' } });
    assert.deepEqual((await server.ok('GET', `${V2}/x`)).metadata, put.metadata);
    assert.equal((await server.send('POST', V2, v1('y', {}))).status, 400);
    const stored = await server.test.store.get('objects/test.example.com/things/x');
    assert.match(Buffer.from(stored?.value ?? []).toString(), /^{"apiVersion":"test.example.com\/v1"/);
  });

  it('are watched side by side', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition({ versions: TWO }));
    const watches = [THINGS, V2].map((url) => server.send('GET', `${url}?watch=true`));
    await server.ok('POST', THINGS, v1('x', { old: 'O' }));
    await server.ok('DELETE', `${V2}/x`);
    await server.ok('PATCH', THING_CRD, { spec: { names: { shortNames: ['th'] } } }, MERGE);
    const seen = (await Promise.all(watches)).map(({ text: lines }) =>
      lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object)
        .map((event) => [
          valueAt(event, ['type']),
          valueAt(event, ['object', 'apiVersion']),
          valueAt(event, ['object', 'spec']),
        ]),
    );
    const [one, two] = ['test.example.com/v1', 'test.example.com/v2'];
    assert.deepEqual(seen, [
      [
        ['ADDED', one, { old: 'O' }],
        ['DELETED', one, { old: 'O' }],
      ],
      [
        ['ADDED', two, { b: 'made' }],
        ['DELETED', two, { b: 'made' }],
      ],
    ]);
  });

  it('may trade places: objects are rewritten when they are next written', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition({ versions: TWO }));
    await server.ok('POST', THINGS, v1('x', { a: 'A' }));
    const traded = [
      { ...TWO[0], storage: false },
      { ...TWO[1], storage: true },
    ];
    const crd = await server.ok('PATCH', THING_CRD, { spec: { versions: traded } }, MERGE);
    assert.deepEqual(valueAt(crd, ['status', 'storedVersions']), ['v1', 'v2']);
    assert.deepEqual((await server.ok('GET', `${V2}/x`)).spec, { a: 'A', b: 'made' });
    await server.ok('PATCH', `${THINGS}/x`, { spec: { a: 'AA', old: 'gone' } }, MERGE);
    const stored = await server.test.store.get('objects/test.example.com/things/x');
    assert.match(
      Buffer.from(stored?.value ?? []).toString(),
      /^{"apiVersion":"test.example.com\/v2".*"spec":{"a":"AA"}}$/,
    );
    assert.deepEqual((await server.ok('GET', `${THINGS}/x`)).spec, { a: 'AA' });
  });
});

import assert from 'node:assert/strict';
import { Namespace } from '../../../resources/kinds/namespace.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

describe('Namespaces', () => {
  let test: TestServer;
  beforeEach(async () => {
    test = await startTestServer();
  });
  afterEach(() => test[Symbol.asyncDispose]());

  const namespaces = () => test.client.resource<Namespace>(Namespace);
  const make = (name: string, fields: JsonObject = {}) =>
    namespaces().create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name }, ...fields });
  const finalize = (name: string, finalizers: readonly string[]) =>
    test.client.json({
      method: 'PUT',
      path: namespaces().path(name, 'finalize'),
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode(JSON.stringify({ metadata: { name }, spec: { finalizers } })),
    });
  const gone = async (name: string) => assert.rejects(namespaces().get(name), { reason: 'NotFound' });

  it('keep finalizers of a client beside the own one, which only finalize takes off', async () => {
    const { spec, status } = await make('a', {
      spec: { finalizers: ['ex.io/f'] },
      status: { phase: 'Terminating', conditions: [{ type: 'Odd', status: 'True' }] },
    });
    assert.deepEqual([spec, status], [{ finalizers: ['ex.io/f', 'kubernetes'] }, { phase: 'Active' }]);
    const patched = await namespaces().patch('a', { spec: { finalizers: null }, metadata: { labels: { x: 'y' } } });
    assert.deepEqual([patched.spec, patched.metadata.labels?.x], [spec, 'y']);
    await namespaces().delete('a');
    await finalize('a', ['ex.io/f']);
    assert.deepEqual((await namespaces().get('a')).spec, { finalizers: ['ex.io/f'] });
    await finalize('a', []);
    await gone('a');
  });

  it('refuse finalizers that do not say whose they are', async () => {
    const refused = await make('a', { spec: { finalizers: ['mine', 'ex.io/'] } }).catch((error: unknown) => error);
    assert.ok(refused instanceof ApiError);
    assert.deepEqual(new Set(refused.details?.causes?.map(({ field }) => field)), new Set(['spec.finalizers']));
  });

  it('end without a generation and a grace period, and twice deleted are the same', async () => {
    await make('a');
    const first = await namespaces().delete('a');
    const again = await namespaces().delete('a');
    assert.deepEqual(again, first);
    const { metadata, status } = await namespaces().get('a');
    assert.deepEqual(Object.keys(metadata).sort(), [
      ...['creationTimestamp', 'deletionTimestamp', 'labels', 'managedFields', 'name', 'resourceVersion', 'uid'],
    ]);
    assert.equal(status?.phase, 'Terminating');
  });

  it('with nothing that holds them go at once', async () => {
    await make('a');
    await finalize('a', []);
    assert.equal((await namespaces().delete('a')).kind, 'Status');
    await gone('a');
  });

  it('default stays, and the refusal has no cause', async () => {
    await assert.rejects(namespaces().delete('default'), (error: unknown) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.code, error.details], [403, { kind: 'namespaces', name: 'default' }]);
      return true;
    });
  });
});

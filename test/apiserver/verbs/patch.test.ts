import assert from 'node:assert/strict';
import { JSON_PATCH, MERGE, NAMESPACES, STRATEGIC, WIDGETS, WidgetServer } from './widget-server.ts';

describe('patch', () => {
  let server: WidgetServer;
  before(async () => {
    server = await WidgetServer.start();
  });
  after(() => server[Symbol.asyncDispose]());

  it('merges, and removes with null', async () => {
    await server.make('m', { metadata: { labels: { a: 'b', c: 'd' } } });
    const after = await server.ok('PATCH', `${WIDGETS}/m`, { metadata: { labels: { a: null } } }, MERGE);
    assert.deepEqual(after.metadata.labels, { c: 'd' });
  });

  it('takes JSON patches: what they test and miss is 422, what does not decode 400', async () => {
    await server.make('j');
    const ops = (...operations: object[]) => server.send('PATCH', `${WIDGETS}/j`, operations, JSON_PATCH);
    assert.equal((await ops({ op: 'replace', path: '/spec/color', value: 'red' })).body.spec?.color, 'red');
    assert.equal((await ops({ op: 'test', path: '/spec/color', value: 'blue' })).status, 422);
    assert.equal((await ops({ op: 'remove', path: '/spec/none' })).status, 422);
    assert.equal((await server.send('PATCH', `${WIDGETS}/j`, '{"not":"a list"}', JSON_PATCH)).status, 400);
  });

  it("takes strategic merge for Kubernetes' kinds and refuses it for users'", async () => {
    const after = await server.ok('PATCH', `${NAMESPACES}/demo`, { metadata: { labels: { s: 'm' } } }, STRATEGIC);
    assert.equal(after.metadata.labels?.s, 'm');
    await server.make('s');
    const refused = await server.send('PATCH', `${WIDGETS}/s`, {}, STRATEGIC);
    assert.deepEqual([refused.status, refused.body.reason], [415, 'UnsupportedMediaType']);
    assert.match(refused.body.message ?? '', /application\/json-patch\+json, application\/merge-patch\+json/);
  });

  it('that names a version is a lock, in every form', async () => {
    const { metadata } = await server.make('lock');
    await server.ok('PATCH', `${WIDGETS}/lock`, { spec: { color: 'red' } }, MERGE);
    const { resourceVersion } = metadata;
    const stale = [
      await server.send('PATCH', `${WIDGETS}/lock`, { metadata: { resourceVersion }, spec: { color: 'blue' } }, MERGE),
      await server.send(
        'PATCH',
        `${WIDGETS}/lock`,
        [{ op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion }],
        JSON_PATCH,
      ),
      await server.send(
        'PATCH',
        `${WIDGETS}/lock/status`,
        { metadata: { resourceVersion }, status: { phase: 'x' } },
        MERGE,
      ),
    ];
    assert.deepEqual(
      stale.map(({ status }) => status),
      [409, 409, 409],
    );
    assert.equal((await server.ok('GET', `${WIDGETS}/lock`)).spec?.color, 'red');
  });

  it('may not rename, and may not force', async () => {
    await server.make('r');
    assert.equal((await server.send('PATCH', `${WIDGETS}/r`, { metadata: { name: 'x' } }, MERGE)).status, 400);
    assert.equal((await server.send('PATCH', `${WIDGETS}/r?force=true`, {}, MERGE)).status, 422);
    const { status, body } = await server.send('PATCH', `${WIDGETS}/r`, {}, STRATEGIC);
    assert.equal(status, 415);
    assert.match(
      body.message ?? '',
      /json-patch\+json, application\/merge-patch\+json, application\/apply-patch\+yaml$/,
    );
  });

  it('of many writers at once loses none', async () => {
    await server.make('many');
    const writers = Array.from({ length: 20 }, (_, i) => i);
    await Promise.all(
      writers.map((i) => server.ok('PATCH', `${WIDGETS}/many`, { metadata: { labels: { [`l${i}`]: 'y' } } }, MERGE)),
    );
    assert.equal(Object.keys((await server.ok('GET', `${WIDGETS}/many`)).metadata.labels ?? {}).length, 20);
  });

  describe('of the scale', () => {
    it('writes the mapped field only, under a lock when it names a version', async () => {
      const made = await server.make('sc', { spec: { replicas: 2 } });
      const scale = await server.ok('GET', `${WIDGETS}/sc/scale`);
      assert.deepEqual([scale.kind, scale.apiVersion, scale.spec], ['Scale', 'autoscaling/v1', { replicas: 2 }]);
      const up = await server.ok('PATCH', `${WIDGETS}/sc/scale`, { spec: { replicas: 3 } }, MERGE);
      assert.deepEqual(up.spec, { replicas: 3 });
      const stored = await server.ok('GET', `${WIDGETS}/sc`);
      assert.deepEqual([stored.spec?.replicas, stored.metadata.generation], [3, 2]);
      const stale = { ...scale, spec: { replicas: 5 } };
      assert.equal((await server.send('PUT', `${WIDGETS}/sc/scale`, stale)).status, 409);
      const { resourceVersion } = stored.metadata;
      const put = await server.ok('PUT', `${WIDGETS}/sc/scale`, {
        ...scale,
        metadata: { ...made.metadata, resourceVersion },
        spec: { replicas: 5 },
      });
      assert.deepEqual(put.spec, { replicas: 5 });
    });

    it('refuses what is no count', async () => {
      await server.make('count');
      for (const replicas of [-1, 1.5, 'x']) {
        const { status } = await server.send('PATCH', `${WIDGETS}/count/scale`, { spec: { replicas } }, MERGE);
        assert.equal(status, 422, String(replicas));
      }
      assert.equal((await server.send('GET', `${NAMESPACES}/demo/scale`)).status, 404);
    });
  });
});

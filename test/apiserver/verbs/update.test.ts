import assert from 'node:assert/strict';
import { MERGE, type Meta, NAMESPACES, WIDGETS, WidgetServer, widget } from './widget-server.ts';

describe('update', () => {
  let server: WidgetServer;
  before(async () => {
    server = await WidgetServer.start();
  });
  after(() => server[Symbol.asyncDispose]());

  const put = (name: string, metadata: Partial<Meta>, over: object = {}) =>
    server.send('PUT', `${WIDGETS}/${name}`, widget(name, { ...over, metadata }));

  it("needs the resourceVersion of users' kinds, and not of Kubernetes' own", async () => {
    await server.make('rv');
    const without = await put('rv', {});
    assert.deepEqual([without.status, without.body.details?.causes?.[0]?.field], [422, 'metadata.resourceVersion']);
    assert.match(without.body.message ?? '', /must be specified for an update/);
    const namespace = { metadata: { name: 'demo', labels: { a: 'b' } } };
    assert.equal((await server.ok('PUT', `${NAMESPACES}/demo`, namespace)).metadata.labels?.a, 'b');
  });

  it('of a version that was overtaken is 409, and changes nothing', async () => {
    const { metadata } = await server.make('stale');
    await server.ok('PUT', `${WIDGETS}/stale`, widget('stale', { metadata, spec: { color: 'red' } }));
    const again = await put('stale', metadata, { spec: { color: 'blue' } });
    assert.deepEqual([again.status, again.body.reason], [409, 'Conflict']);
    assert.match(
      again.body.message ?? '',
      /^Operation cannot be fulfilled on widgets.demo.example.com "stale": the object has been modified/,
    );
    assert.equal((await server.ok('GET', `${WIDGETS}/stale`)).spec?.color, 'red');
  });

  it('names the object of the URL or is refused: uid 409, name and namespace 400', async () => {
    const { metadata } = await server.make('named');
    const uid = await put('named', { ...metadata, uid: 'another' });
    assert.equal(uid.status, 409);
    assert.match(uid.body.message ?? '', /UID in precondition: another, UID in object meta/);
    const renamed = await put('named', { ...metadata, name: 'other' });
    assert.equal(renamed.status, 400);
    assert.match(
      renamed.body.message ?? '',
      /the name of the object \(other\) does not match the name on the URL \(named\)/,
    );
    assert.equal((await put('named', { ...metadata, namespace: 'x' })).status, 400);
  });

  it('of what is not there is 404, not a create', async () => {
    assert.equal((await put('nothing', { resourceVersion: '1' })).status, 404);
    assert.equal((await server.send('PATCH', `${WIDGETS}/nothing`, {}, MERGE)).status, 404);
  });

  it('that changes nothing keeps the version and writes nothing', async () => {
    const made = await server.make('noop', { metadata: { labels: { a: 'b' } } });
    const before = server.revision;
    const same = await server.ok('PUT', `${WIDGETS}/noop`, made);
    const patched = await server.ok('PATCH', `${WIDGETS}/noop`, { metadata: { labels: { a: 'b' } } }, MERGE);
    assert.deepEqual(
      [same.metadata.resourceVersion, patched.metadata.resourceVersion],
      [made.metadata.resourceVersion, made.metadata.resourceVersion],
    );
    assert.equal(server.revision, before);
  });

  it('raises the generation for the spec alone', async () => {
    const { metadata } = await server.make('gen');
    const labelled = await server.ok(
      'PATCH',
      `${WIDGETS}/gen`,
      { metadata: { labels: { a: 'b' }, generation: 77 } },
      MERGE,
    );
    const status = await server.ok('PATCH', `${WIDGETS}/gen/status`, { status: { phase: 'Ready' } }, MERGE);
    const spec = await server.ok('PATCH', `${WIDGETS}/gen`, { spec: { color: 'red' } }, MERGE);
    assert.deepEqual(
      [metadata, labelled.metadata, status.metadata, spec.metadata].map((m) => m.generation),
      [1, 1, 1, 2],
    );
  });

  it('restores what a client may not change', async () => {
    const { metadata } = await server.make('kept');
    const wish = {
      ...metadata,
      creationTimestamp: '2001-01-01T00:00:00Z',
      generation: 9,
      labels: { a: 'b' },
    };
    const after = await server.ok('PUT', `${WIDGETS}/kept`, widget('kept', { metadata: wish }));
    assert.deepEqual([after.metadata.creationTimestamp, after.metadata.generation], [metadata.creationTimestamp, 1]);
  });

  it('keeps status and the rest apart, both ways', async () => {
    await server.make('both');
    const main = await server.ok(
      'PATCH',
      `${WIDGETS}/both`,
      { spec: { color: 'red' }, status: { phase: 'Ready' } },
      MERGE,
    );
    assert.deepEqual([main.spec?.color, main.status], ['red', undefined]);
    const wish = {
      ...main,
      metadata: { ...main.metadata, labels: { a: 'b' } },
      spec: { size: 'large' },
      status: { phase: 'Ready' },
    };
    const status = await server.ok('PUT', `${WIDGETS}/both/status`, wish);
    assert.deepEqual([status.spec, status.metadata.labels, status.status], [main.spec, undefined, { phase: 'Ready' }]);
    const removed = await server.ok('PUT', `${WIDGETS}/both`, {
      ...status,
      status: undefined,
      spec: { size: 'large' },
    });
    assert.deepEqual([removed.spec?.size, removed.status], ['large', { phase: 'Ready' }]);
    assert.equal(
      (await server.send('PUT', `${WIDGETS}/both/status`, { ...status })).status,
      409,
      'versions count there too',
    );
  });

  it('tried dry answers what it would be, and leaves it', async () => {
    const { metadata } = await server.make('dry');
    const before = server.revision;
    const would = await server.ok('PATCH', `${WIDGETS}/dry?dryRun=All`, { spec: { color: 'red' } }, MERGE);
    assert.deepEqual(
      [would.spec?.color, would.metadata.generation, would.metadata.resourceVersion],
      ['red', 2, metadata.resourceVersion],
    );
    assert.equal((await server.ok('GET', `${WIDGETS}/dry`)).spec?.color, 'grey');
    assert.equal(server.revision, before);
  });
});

import assert from 'node:assert/strict';
import { MERGE, type Meta, NAMESPACES, WIDGETS, WidgetServer, widget } from './widget-server.ts';

const HELD = { metadata: { finalizers: ['example.com/hold'] } };

describe('delete', () => {
  let server: WidgetServer;
  before(async () => {
    server = await WidgetServer.start();
  });
  after(() => server[Symbol.asyncDispose]());

  it('answers a Status with the uid when the object is gone', async () => {
    const { metadata } = await server.make('gone');
    const status = await server.ok('DELETE', `${WIDGETS}/gone`, { propagationPolicy: 'Background' });
    assert.deepEqual(
      [status.kind, status.status, status.details],
      ['Status', 'Success', { name: 'gone', group: 'demo.example.com', kind: 'widgets', uid: metadata.uid }],
    );
    assert.equal((await server.send('GET', `${WIDGETS}/gone`)).status, 404);
    assert.equal((await server.send('DELETE', `${WIDGETS}/gone`)).status, 404);
  });

  it('marks what finalizers hold, and removes it with the last of them', async () => {
    const made = await server.make('held', HELD);
    const marked = await server.ok('DELETE', `${WIDGETS}/held`);
    assert.equal(marked.kind, 'Widget');
    assert.match(marked.metadata.deletionTimestamp ?? '', /Z$/);
    assert.deepEqual([marked.metadata.deletionGracePeriodSeconds, marked.metadata.generation], [0, 2]);
    const before = server.revision;
    assert.equal(
      (await server.ok('DELETE', `${WIDGETS}/held`)).metadata.deletionTimestamp,
      marked.metadata.deletionTimestamp,
    );
    assert.equal(server.revision, before, 'deleting again writes nothing');
    const more = await server.send(
      'PATCH',
      `${WIDGETS}/held`,
      { metadata: { finalizers: ['example.com/hold', 'example.com/new'] } },
      MERGE,
    );
    assert.equal(more.status, 422, 'no finalizer joins an object that goes');
    const last = await server.ok('PATCH', `${WIDGETS}/held`, { metadata: { finalizers: null } }, MERGE);
    assert.equal(last.metadata.uid, made.metadata.uid);
    assert.equal((await server.send('GET', `${WIDGETS}/held`)).status, 404);
  });

  it('asks for a finalizer of the garbage duty when dependents are to be treated otherwise', async () => {
    const finalizers = async (name: string, wish: object) => {
      await server.make(name);
      return (await server.ok('DELETE', `${WIDGETS}/${name}`, wish)).metadata.finalizers;
    };
    assert.deepEqual(await finalizers('fg', { propagationPolicy: 'Foreground' }), ['foregroundDeletion']);
    assert.deepEqual(await finalizers('orphan', { propagationPolicy: 'Orphan' }), ['orphan']);
    assert.deepEqual(await finalizers('legacy', { orphanDependents: true }), ['orphan']);
    await server.make('q');
    assert.deepEqual((await server.ok('DELETE', `${WIDGETS}/q?propagationPolicy=Foreground`)).metadata.finalizers, [
      'foregroundDeletion',
    ]);
    for (const wish of [
      { propagationPolicy: 'Whatever' },
      { propagationPolicy: 'Orphan', orphanDependents: true },
      { gracePeriodSeconds: -1 },
    ]) {
      assert.equal((await server.send('DELETE', `${WIDGETS}/q`, wish)).status, 422, JSON.stringify(wish));
    }
  });

  it('holds to its preconditions, naming both values', async () => {
    const { metadata } = await server.make('pre');
    const uid = await server.send('DELETE', `${WIDGETS}/pre`, { preconditions: { uid: 'other' } });
    assert.equal(uid.status, 409);
    assert.match(uid.body.message ?? '', new RegExp(`UID in precondition: other, UID in object meta: ${metadata.uid}`));
    const version = await server.send('DELETE', `${WIDGETS}/pre`, { preconditions: { resourceVersion: '1' } });
    assert.equal(version.status, 409);
    const { uid: right, resourceVersion } = metadata;
    assert.equal(
      (await server.send('DELETE', `${WIDGETS}/pre`, { preconditions: { uid: right, resourceVersion } })).status,
      200,
    );
  });

  it('tried dry, by body or query, leaves the object', async () => {
    await server.make('dry', HELD);
    const before = server.revision;
    assert.notEqual(
      (await server.ok('DELETE', `${WIDGETS}/dry`, { dryRun: ['All'] })).metadata.deletionTimestamp,
      undefined,
    );
    await server.ok('DELETE', `${WIDGETS}/dry?dryRun=All`);
    assert.equal(server.revision, before);
    assert.equal((await server.send('DELETE', `${WIDGETS}/dry`, { dryRun: ['Maybe'] })).status, 422);
  });

  it('of a collection removes what its selectors name, in one namespace, at most limit', async () => {
    for (const name of ['c1', 'c2', 'c3', 'keep'])
      await server.make(name, { metadata: { labels: { set: name === 'keep' ? 'k' : 'c' } } });
    const names = (list: { items?: readonly { metadata: { name: string } }[] }) =>
      list.items?.map((item) => item.metadata.name);
    assert.deepEqual(names(await server.ok('DELETE', `${WIDGETS}?labelSelector=set%3Dc&limit=2`)), ['c1', 'c2']);
    assert.deepEqual(names(await server.ok('DELETE', `${WIDGETS}?labelSelector=set%3Dc&dryRun=All`)), ['c3']);
    assert.deepEqual(names(await server.ok('DELETE', `${WIDGETS}?fieldSelector=metadata.name%3Dc3`)), ['c3']);
    assert.deepEqual(names(await server.ok('GET', `${WIDGETS}?labelSelector=set`)), ['keep']);
    assert.equal((await server.send('DELETE', '/apis/demo.example.com/v1/widgets')).status, 404);
    assert.equal((await server.send('DELETE', `${WIDGETS}?fieldSelector=spec.size%3Dsmall`)).status, 400);
    assert.equal((await server.ok('GET', `${WIDGETS}/keep`)).metadata.name, 'keep');
  });

  it('of a namespace waits for its own finalizer, which only finalize writes', async () => {
    await server.ok('POST', NAMESPACES, { metadata: { name: 'ns' } });
    const ending = await server.ok('DELETE', `${NAMESPACES}/ns`);
    assert.deepEqual(ending.status, { phase: 'Terminating' });
    const finalized = await server.ok('PUT', `${NAMESPACES}/ns/finalize`, { ...ending, spec: { finalizers: [] } });
    assert.equal(finalized.metadata.name, 'ns');
    assert.equal((await server.send('GET', `${NAMESPACES}/ns`)).status, 404);
    for (const inherited of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      assert.equal((await server.send('PUT', `${WIDGETS}/keep/${inherited}`, widget('keep'))).status, 404, inherited);
    }
  });

  it('refuses a body that is no DeleteOptions', async () => {
    await server.make('odd');
    assert.equal((await server.send('DELETE', `${WIDGETS}/odd`, { kind: 'Pod' })).status, 400);
    assert.equal((await server.send('DELETE', `${WIDGETS}/odd`, '[]')).status, 400);
    assert.equal((await server.send('DELETE', `${WIDGETS}/odd`, '{}', 'text/plain')).status, 415);
  });

  it('and creation under one name make two objects', async () => {
    const first: Meta = (await server.make('twice')).metadata;
    await server.ok('DELETE', `${WIDGETS}/twice`);
    const second: Meta = (await server.make('twice')).metadata;
    assert.notEqual(first.uid, second.uid);
    assert.ok(Number(second.resourceVersion) > Number(first.resourceVersion));
  });
});

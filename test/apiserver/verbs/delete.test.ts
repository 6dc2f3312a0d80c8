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
      { propagationPolicy: 'foreground' },
    ]) {
      assert.equal((await server.send('DELETE', `${WIDGETS}/q`, wish)).status, 422, JSON.stringify(wish));
    }
  });

  it('holds to its preconditions, naming both values', async () => {
    const { metadata } = await server.make('pre');
    const uid = await server.send('DELETE', `${WIDGETS}/pre`, { preconditions: { uid: 'other' } });
    assert.equal(uid.status, 409);
    assert.match(
      uid.body.message ?? '',
      new RegExp(`the UID in the precondition \\(other\\) does not match the UID in record \\(${metadata.uid}\\)`),
    );
    const version = await server.send('DELETE', `${WIDGETS}/pre`, { preconditions: { resourceVersion: '1' } });
    assert.equal(version.status, 409);
    const { uid: right, resourceVersion } = metadata;
    assert.equal(
      (await server.send('DELETE', `${WIDGETS}/pre`, { preconditions: { uid: right, resourceVersion } })).status,
      200,
    );
  });

  it('takes preconditions from the query too, and never mixes body and query', async () => {
    await server.make('query');
    const status = async (query: string, body?: unknown) =>
      (await server.send('DELETE', `${WIDGETS}/query?dryRun=All&${query}`, body)).status;
    assert.deepEqual(
      [await status('uid=other'), await status('resourceVersion=1'), await status('uid=')],
      [409, 409, 200],
    );
    const before = server.revision;
    const mixed = await server.ok('DELETE', `${WIDGETS}/query?uid=other&dryRun=All`, { propagationPolicy: 'Orphan' });
    assert.deepEqual(mixed.metadata.finalizers, ['orphan']);
    assert.equal(server.revision, before + 1);
    for (const preconditions of [{ uid: '' }, { resourceVersion: '1' }]) {
      const again = await server.send('DELETE', `${WIDGETS}/query`, { preconditions });
      assert.deepEqual([again.status, again.body.details?.kind], [409, 'Widget'], 'also when it is going already');
    }
  });

  it('waits for no grace period, whatever it is', async () => {
    for (const grace of ['30', '0', '-1']) {
      await server.make('grace');
      assert.equal((await server.ok('DELETE', `${WIDGETS}/grace?gracePeriodSeconds=${grace}`)).status, 'Success');
    }
    await server.make('grace', HELD);
    const held = await server.ok('DELETE', `${WIDGETS}/grace`, { gracePeriodSeconds: 30 });
    assert.equal(held.metadata.deletionGracePeriodSeconds, 0);
    assert.equal((await server.send('DELETE', `${WIDGETS}/grace?gracePeriodSeconds=soon`)).status, 400);
  });

  it('goes by the policy asked last, else by the finalizer that the object has', async () => {
    const asked = async (name: string, query: string) =>
      (await server.ok('DELETE', `${WIDGETS}/${name}?${query}`)) as { metadata: Partial<Meta>; status?: unknown };
    await server.make('turns');
    const first = await asked('turns', 'propagationPolicy=Foreground');
    assert.deepEqual(first.metadata.finalizers, ['foregroundDeletion']);
    const again = await asked('turns', '');
    assert.deepEqual(again.metadata, first.metadata, 'asking again without a policy changes nothing');
    const turned = await asked('turns', 'propagationPolicy=Orphan');
    assert.deepEqual([turned.metadata.finalizers, turned.metadata.generation], [['orphan'], 2]);
    assert.equal(turned.metadata.deletionTimestamp, first.metadata.deletionTimestamp);
    assert.equal((await asked('turns', 'propagationPolicy=Background')).status, 'Success');
    await server.make('born', { metadata: { finalizers: ['orphan', 'example.com/hold'] } });
    assert.deepEqual((await asked('born', '')).metadata.finalizers, ['orphan', 'example.com/hold']);
    assert.deepEqual((await asked('born', 'orphanDependents=false')).metadata.finalizers, ['example.com/hold']);
  });

  it('of a collection keeps to preconditions and policies for each of them', async () => {
    const labels = { batch: 'policy' };
    const first = (await server.make('p1', { metadata: { labels } })).metadata;
    await server.make('p2', { metadata: { labels } });
    const all = `${WIDGETS}?labelSelector=batch%3Dpolicy`;
    assert.equal((await server.send('DELETE', all, { preconditions: { uid: first.uid } })).status, 409);
    await server.ok('DELETE', all, { propagationPolicy: 'Foreground' });
    const left = await server.ok('GET', `${WIDGETS}/p2`);
    assert.deepEqual(left.metadata.finalizers, ['foregroundDeletion']);
    assert.equal((await server.send('DELETE', all, { propagationPolicy: 'Never' })).status, 422);
    assert.equal((await server.send('DELETE', `${all}&dryRun=Some`)).status, 422);
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
    for (const wrong of [
      { dryRun: 'All' },
      { gracePeriodSeconds: 'soon' },
      { gracePeriodSeconds: 1.5 },
      { orphanDependents: 'yes' },
      { propagationPolicy: 1 },
      { preconditions: 'uid' },
      { preconditions: { uid: 1 } },
    ]) {
      assert.equal((await server.send('DELETE', `${WIDGETS}/odd`, wrong)).status, 400, JSON.stringify(wrong));
    }
  });

  it('takes DeleteOptions of any version, in YAML too, null, and with fields nobody knows', async () => {
    const bodies: [unknown, string?][] = [
      [{ kind: 'DeleteOptions', apiVersion: 'v1' }],
      [{ kind: 'DeleteOptions', apiVersion: 'demo.example.com/v1' }],
      [{ apiVersion: 'meta.k8s.io/v1', bogus: true, preconditions: null, dryRun: null }],
      ['kind: DeleteOptions\npropagationPolicy: Background\n', 'application/yaml'],
      ['null'],
      [''],
    ];
    for (const [body, type] of bodies) {
      await server.make('any');
      const { status, text } = await server.send('DELETE', `${WIDGETS}/any`, body, type);
      assert.equal(status, 200, `${String(body)}: ${text}`);
    }
  });

  it('and creation under one name make two objects', async () => {
    const first: Meta = (await server.make('twice')).metadata;
    await server.ok('DELETE', `${WIDGETS}/twice`);
    const second: Meta = (await server.make('twice')).metadata;
    assert.notEqual(first.uid, second.uid);
    assert.ok(Number(second.resourceVersion) > Number(first.resourceVersion));
  });
});

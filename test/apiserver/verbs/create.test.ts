import assert from 'node:assert/strict';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { type Answer, send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';
import { GADGETS, NAMESPACES, WIDGETS, WidgetServer, widget } from './widget-server.ts';

const causeOf = (body: Answer) => body.details?.causes?.[0];

describe('create', () => {
  let server: WidgetServer;
  before(async () => {
    server = await WidgetServer.start();
  });
  after(() => server[Symbol.asyncDispose]());

  it('fills in system metadata and ignores what a client sends of it', async () => {
    const metadata = {
      uid: 'mine',
      generation: 9,
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      selfLink: '/x',
      managedFields: [{ time: 'x' }],
    };
    const { metadata: made, ...object } = await server.make('filled', { metadata, status: { phase: 'Ready' } });
    assert.match(made.uid, /^[0-9a-f]{8}-/);
    assert.match(made.creationTimestamp, /^2\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.notEqual(made.creationTimestamp, '2001-01-01T00:00:00Z');
    assert.equal(made.generation, 1);
    assert.equal(made.resourceVersion, String(server.revision));
    assert.equal(made.namespace, 'demo');
    assert.deepEqual(Object.keys(made).sort(), [
      'creationTimestamp',
      'generation',
      'managedFields',
      'name',
      'namespace',
      'resourceVersion',
      'uid',
    ]);
    assert.deepEqual(
      made.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`),
      ['unknown Update'],
    );
    assert.equal(object.status, undefined, 'status is for /status');
    assert.equal((object.spec as { color?: string }).color, 'grey', 'defaults are filled in');
  });

  it('answers what is stored', async () => {
    const made = await server.make('same');
    assert.deepEqual(await server.ok('GET', `${WIDGETS}/same`), made);
  });

  it('generates a name that is free, and lets a name win over generateName', async () => {
    const first = await server.ok('POST', WIDGETS, widget('', { metadata: { generateName: 'gen-' } }));
    assert.match(first.metadata.name, /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    const long = await server.ok('POST', WIDGETS, widget('', { metadata: { generateName: 'x'.repeat(62) } }));
    assert.match(long.metadata.name, /^x{58}[a-z0-9]{5}$/);
    const named = await server.ok('POST', WIDGETS, widget('chosen', { metadata: { generateName: 'gen-' } }));
    assert.equal(named.metadata.name, 'chosen');
    const none = await server.send('POST', WIDGETS, widget(''));
    assert.deepEqual([none.status, causeOf(none.body)?.field], [422, 'metadata.name']);
  });

  it('tells a missing name together with all else that is wrong', async () => {
    const { status, body } = await server.send('POST', WIDGETS, widget('', { spec: { tags: 80 } }));
    assert.equal(status, 422);
    const fields = body.details?.causes?.map(({ field }) => field);
    assert.deepEqual(fields?.sort(), ['<nil>', 'metadata.name', 'spec.tags']);
  });

  it('refuses a name that is taken, in the words of one being deleted when it is', async () => {
    await server.make('taken', { metadata: { finalizers: ['example.com/x'] } });
    const again = await server.send('POST', WIDGETS, widget('taken'));
    assert.deepEqual([again.status, again.body.reason], [409, 'AlreadyExists']);
    assert.equal(again.body.message, 'widgets.demo.example.com "taken" already exists');
    await server.ok('DELETE', `${WIDGETS}/taken`);
    const ending = await server.send('POST', WIDGETS, widget('taken'));
    assert.equal(ending.body.message, 'object is being deleted: widgets.demo.example.com "taken" already exists');
  });

  it('needs a namespace that is there and stays', async () => {
    const nowhere = await server.send('POST', WIDGETS.replace('/demo/', '/nowhere/'), widget('a'));
    assert.deepEqual(
      [nowhere.status, nowhere.body.details?.kind, nowhere.body.message],
      [404, 'namespaces', 'namespaces "nowhere" not found'],
    );
    await server.ok('POST', NAMESPACES, { metadata: { name: 'ending' } });
    await server.ok('DELETE', `${NAMESPACES}/ending`);
    const ending = await server.send('POST', WIDGETS.replace('/demo/', '/ending/'), widget('a'));
    assert.deepEqual([ending.status, causeOf(ending.body)?.reason], [403, 'NamespaceTerminating']);
    assert.equal((await server.send('POST', '/apis/demo.example.com/v1/widgets', widget('a'))).status, 404);
  });

  it('tried dry has a uid but no resourceVersion, and is not there afterwards', async () => {
    const before = server.revision;
    const { metadata } = await server.ok('POST', `${WIDGETS}?dryRun=All`, widget('dry'));
    assert.notEqual(metadata.uid, '');
    assert.ok(!Object.hasOwn(metadata, 'resourceVersion'), JSON.stringify(metadata));
    assert.equal((await server.send('GET', `${WIDGETS}/dry`)).status, 404);
    assert.equal(server.revision, before);
    assert.equal((await server.send('POST', `${WIDGETS}?dryRun=Some`, widget('dry'))).status, 422);
    assert.equal((await server.send('POST', `${WIDGETS}?dryRun=All`, widget('filled'))).status, 409);
  });

  it('refuses a resourceVersion, and a name or namespace other than the route’s', async () => {
    const versioned = await server.send('POST', WIDGETS, widget('v', { metadata: { resourceVersion: '5' } }));
    assert.deepEqual(
      [versioned.status, versioned.body.message],
      [400, 'resourceVersion should not be set on objects to be created'],
    );
    const elsewhere = await server.send('POST', WIDGETS, widget('v', { metadata: { namespace: 'other' } }));
    assert.equal(elsewhere.status, 400);
  });

  it('clears the namespace of an object that has none by its kind', async () => {
    const body = { apiVersion: 'demo.example.com/v1', kind: 'Gadget', metadata: { name: 'g', namespace: 'demo' } };
    const made = await server.ok('POST', GADGETS, body);
    assert.equal(made.metadata.namespace, undefined);
    const put = { ...body, metadata: { ...made.metadata, namespace: 'demo', labels: { a: 'b' } } };
    assert.equal((await server.ok('PUT', `${GADGETS}/g`, put)).metadata.namespace, undefined);
  });

  it('fills in apiVersion and kind of built-in kinds only', async () => {
    const { apiVersion, kind } = await server.ok('POST', NAMESPACES, { metadata: { name: 'typed' } });
    assert.deepEqual([apiVersion, kind], ['v1', 'Namespace']);
    assert.equal(
      (await server.send('POST', WIDGETS, { metadata: { name: 'x' }, spec: { size: 'small' } })).status,
      400,
    );
    assert.equal((await server.send('POST', WIDGETS, { ...widget('x'), kind: 'Gadget' })).status, 422);
    assert.equal((await server.send('POST', WIDGETS, { ...widget('x'), apiVersion: 'v1' })).status, 400);
  });

  for (const [directive, status, warnings] of [
    ['Strict', 400, 0],
    ['Warn', 201, 2],
    ['', 201, 2],
    ['Ignore', 201, 0],
  ] as const) {
    it(`with fieldValidation=${directive || 'unset'} answers ${status} with ${warnings} warnings of unknown and doubled fields`, async () => {
      const name = `fv-${directive.toLowerCase() || 'unset'}`;
      const text = JSON.stringify(widget(name, { spec: { bogus: 1 } })).replace(
        '"size":"small"',
        '"size":"large","size":"small"',
      );
      const answer = await server.send('POST', `${WIDGETS}?fieldValidation=${directive}`, text);
      assert.equal(answer.status, status, answer.text);
      const got = answer.headers.warning ?? [];
      assert.equal(got.length, warnings);
      if (warnings > 0) {
        assert.deepEqual(got, ['299 - "duplicate field \\"spec.size\\""', '299 - "unknown field \\"spec.bogus\\""']);
        assert.deepEqual((await server.ok('GET', `${WIDGETS}/${name}`)).spec?.bogus, undefined);
      }
      if (status === 400) {
        assert.match(
          answer.body.message ?? '',
          /strict decoding error: duplicate field "spec.size", unknown field "spec.bogus"/,
        );
      }
    });
  }

  it('warns of names no header could hold in one that a header can', async () => {
    const answer = await server.send('POST', WIDGETS, widget('odd', { spec: { 'a\nb\u0007"ключ': 1 } }));
    assert.equal(answer.status, 201);
    const [warning = ''] = answer.headers.warning ?? [];
    assert.match(warning, /ключ/);
    assert.doesNotMatch(warning, /\p{Cc}/u);
  });

  it('gives up a generated name when every one it tries is taken, and says when to try again', async () => {
    const ids = { ...systemIds, suffix: () => 'taken' };
    await using test = await startTestServer({ ids });
    const generated = { body: { metadata: { generateName: 'g-' } } };
    assert.equal((await send(test.server.app, 'POST', NAMESPACES, generated)).body.metadata?.name, 'g-taken');
    const { status, headers, body } = await send(test.server.app, 'POST', NAMESPACES, generated);
    assert.deepEqual([status, body.reason, headers['retry-after']], [409, 'AlreadyExists', '1']);
    assert.deepEqual([body.details?.name, body.details?.retryAfterSeconds], ['g-taken', 1]);
  });
});

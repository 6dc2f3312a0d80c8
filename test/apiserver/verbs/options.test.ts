import assert from 'node:assert/strict';
import type { RawAnswer } from '../../harness/raw.ts';
import { GADGETS, JSON_PATCH, MERGE, NAMESPACES, WIDGETS, WidgetServer, widget } from './widget-server.ts';

const APPLY = 'application/apply-patch+yaml';
const HELD = { metadata: { finalizers: ['example.com/hold'] } };
const LONG = 'ü'.repeat(65);
const EVENTS = '/api/v1/namespaces/demo/events';

describe('the options of writes', () => {
  let server: WidgetServer;
  before(async () => {
    server = await WidgetServer.start();
    await server.make('there');
  });
  after(() => server[Symbol.asyncDispose]());

  /** The same options asked of each verb that writes. */
  async function each(query: string): Promise<Readonly<Record<string, RawAnswer>>> {
    const there = await server.ok('GET', `${WIDGETS}/there`);
    const at = (path: string) => `${WIDGETS}${path}?${query}`;
    return {
      Create: await server.send('POST', at(''), widget('fresh')),
      Update: await server.send('PUT', at('/there'), there),
      Patch: await server.send('PATCH', at('/there'), {}, MERGE),
      Delete: await server.send('DELETE', at('/there')),
    };
  }

  it('are refused all at once, about the options and no object', async () => {
    for (const [verb, { status, body }] of Object.entries(await each('dryRun=Yes&dryRun=All'))) {
      const message = 'Unsupported value: []string{"Yes", "All"}: supported values: "All"';
      const causes = [{ reason: 'FieldValueNotSupported', message, field: 'dryRun' }];
      assert.deepEqual([status, body.details], [422, { group: 'meta.k8s.io', kind: `${verb}Options`, causes }], verb);
    }
    const many = await server.send(
      'PATCH',
      `${WIDGETS}/there?force=false&fieldManager=${LONG}&dryRun=&fieldValidation=strict`,
      {},
      MERGE,
    );
    assert.deepEqual(
      many.body.details?.causes?.map(({ field }) => field),
      ['force', 'fieldManager', 'dryRun', 'fieldValidation'],
    );
    const odd = await server.send('POST', `${WIDGETS}?fieldManager=a%07`, widget('odd'));
    assert.match(odd.body.message ?? '', /Invalid value: "a\\a": should only contain printable characters$/);
  });

  it('count the bytes of a field manager', async () => {
    assert.equal((await server.send('POST', `${WIDGETS}?fieldManager=${LONG}`, widget('m'))).status, 422);
    assert.equal((await server.send('POST', `${WIDGETS}?fieldManager=${LONG.slice(1)}`, widget('m'))).status, 201);
  });

  it('are read before the object is', async () => {
    assert.equal((await server.send('POST', `${WIDGETS}?dryRun=No`, '{')).status, 422);
    assert.equal((await server.send('PATCH', `${WIDGETS}/none?dryRun=No`, '{', MERGE)).status, 422);
  });

  it('a dry run of any verb writes nothing', async () => {
    await server.make('held', HELD);
    await server.make('free');
    const { metadata } = await server.ok('GET', `${WIDGETS}/free`);
    const before = server.revision;
    const tried = await each('dryRun=All');
    assert.deepEqual(
      Object.values(tried).map(({ status }) => status),
      [201, 200, 200, 200],
    );
    const dry = (method: string, path: string, body?: unknown, type?: string) =>
      server.ok(method, `${WIDGETS}${path}`, body, type);
    const made = await dry('POST', '?dryRun=All', widget('fresh'));
    assert.deepEqual([made.metadata.resourceVersion, made.metadata.generation], [undefined, 1]);
    const changed = await dry(
      'PATCH',
      '/free?dryRun=All',
      [{ op: 'add', path: '/spec/color', value: 'red' }],
      JSON_PATCH,
    );
    assert.deepEqual(
      [changed.metadata.resourceVersion, changed.metadata.generation, changed.spec?.color],
      [metadata.resourceVersion, 2, 'red'],
    );
    await dry('PATCH', '/new?dryRun=All&fieldManager=m', widget('new'), APPLY);
    await dry('PATCH', '/free/status?dryRun=All', { status: { phase: 'Up' } }, MERGE);
    await dry('PATCH', '/free/scale?dryRun=All', { spec: { replicas: 4 } }, MERGE);
    await dry('DELETE', '/held', { dryRun: ['All'] });
    await dry('DELETE', '?dryRun=All');
    await dry('DELETE', '', { dryRun: ['All'], propagationPolicy: 'Foreground' });
    assert.equal(server.revision, before);
  });

  it('of a patch in strict validation name what is odd about the patch and about its result', async () => {
    await server.make('strict');
    const url = (directive: string) => `${WIDGETS}/strict?fieldValidation=${directive}`;
    const ops = '[{"op":"add","op":"add","path":"/spec/bogus","value":1,"extra":2}]';
    const texts = [
      'json patch duplicate field "[0].op"',
      'json patch unknown field "[0].extra"',
      'unknown field "spec.bogus"',
    ];
    const { status, body } = await server.send('PATCH', url('Strict'), ops, JSON_PATCH);
    const [cause] = body.details?.causes ?? [];
    assert.deepEqual([status, cause?.field, body.details?.kind], [422, 'patch', undefined]);
    assert.ok(cause?.message.endsWith(`: strict decoding error: ${texts.join(', ')}`), cause?.message);
    const warned = await server.send('PATCH', url('Warn'), ops, JSON_PATCH);
    assert.deepEqual(
      warned.headers.warning,
      texts.map((text) => `299 - "${text.replaceAll('"', '\\"')}"`),
    );
    assert.equal((await server.send('PATCH', url('Ignore'), ops, JSON_PATCH)).headers.warning, undefined);
    const merge = await server.send('PATCH', url('Strict'), '{"spec":{"color":"a","color":"b"}}', MERGE);
    assert.match(merge.body.message ?? '', /^ "" is invalid: patch: .*duplicate field "spec.color"$/);
  });

  it('a result that is no object of its kind is refused as a bad patch', async () => {
    await server.make('shape');
    for (const body of [
      [{ op: 'replace', path: '', value: { a: 1 } }],
      [{ op: 'replace', path: '/apiVersion', value: 'demo.example.com/v2' }],
      [{ op: 'add', path: '/metadata/labels', value: { a: 1 } }],
    ]) {
      const { status, body: answer } = await server.send('PATCH', `${WIDGETS}/shape`, body, JSON_PATCH);
      assert.deepEqual([status, answer.details?.causes?.[0]?.field], [422, 'patch'], JSON.stringify(body));
    }
    const otherKind = [{ op: 'replace', path: '/kind', value: 'Gadget' }];
    const other = await server.send('PATCH', `${WIDGETS}/shape`, otherKind, JSON_PATCH);
    assert.deepEqual([other.status, other.body.details?.causes?.[0]?.field], [422, 'kind']);
    const none = await server.send('PATCH', `${WIDGETS}/none`, 'junk', MERGE);
    assert.equal(none.status, 404, 'that there is nothing comes before what is wrong with the patch');
    assert.equal((await server.send('PATCH', `${WIDGETS}/shape`, 'junk', MERGE)).status, 400);
  });

  it('the name must be in what is put, in what a patch makes, and in what is applied', async () => {
    const { metadata } = await server.make('named');
    const nameless = { ...widget(''), metadata: { resourceVersion: metadata.resourceVersion } };
    const answers = [
      await server.send('PUT', `${WIDGETS}/named`, nameless),
      await server.send('PUT', `${WIDGETS}/named/status`, nameless),
      await server.send('PUT', `${WIDGETS}/named/scale`, { spec: { replicas: 1 } }),
      await server.send('PATCH', `${WIDGETS}/named`, { metadata: { name: null } }, MERGE),
      await server.send('PATCH', `${WIDGETS}/named?fieldManager=m`, nameless, APPLY),
    ];
    for (const { status, body } of answers) {
      assert.equal(status, 400);
      const why = 'the name of the object (named based on URL) was undeterminable: name must be provided';
      assert.equal(body.message, why);
    }
    const create = await server.send('POST', WIDGETS, widget(''));
    assert.deepEqual([create.status, create.body.details?.name], [422, undefined]);
  });

  it('the version must be in what is put and stay in what is patched, but for built-in kinds', async () => {
    const { metadata } = await server.make('locked');
    for (const resourceVersion of [undefined, '', '0']) {
      const put = await server.send('PUT', `${WIDGETS}/locked`, widget('locked', { metadata: { resourceVersion } }));
      assert.deepEqual([put.status, put.body.details?.kind, put.body.details?.name], [422, 'widgets', 'locked']);
    }
    const unlocked = { metadata: { resourceVersion: null }, spec: { color: 'red' } };
    assert.equal((await server.send('PATCH', `${WIDGETS}/locked`, unlocked, MERGE)).status, 422);
    assert.equal((await server.ok('GET', `${WIDGETS}/locked`)).metadata.resourceVersion, metadata.resourceVersion);
    const event = { metadata: { name: 'e' }, involvedObject: { namespace: 'demo' } };
    await server.ok('POST', EVENTS, event);
    await server.ok('PUT', `${EVENTS}/e`, { ...event, reason: 'Put' });
    await server.ok('PUT', `${EVENTS}/e`, { ...event, metadata: { name: 'e', resourceVersion: '0' }, reason: 'Zero' });
    const patched = await server.ok('PATCH', `${EVENTS}/e`, { metadata: { resourceVersion: '' }, reason: 'P' }, MERGE);
    assert.equal(patched.metadata.name, 'e');
  });

  it('what identifies an object cannot be changed: a uid put is a lock, one patched is no valid change', async () => {
    const { metadata } = await server.make('same');
    const { resourceVersion } = metadata;
    const put = (over: object) =>
      server.send('PUT', `${WIDGETS}/same`, widget('same', { metadata: { resourceVersion, ...over } }));
    assert.equal((await put({ uid: 'other' })).status, 409);
    assert.equal((await server.send('PATCH', `${WIDGETS}/same`, { metadata: { uid: 'other' } }, MERGE)).status, 422);
    const dated = await put({ deletionTimestamp: '2001-01-01T02:00:00+02:00', deletionGracePeriodSeconds: 9 });
    assert.equal(dated.status, 422);
    assert.deepEqual(
      dated.body.details?.causes?.map(({ field, message }) => `${field}: ${message}`),
      Array(2)
        .fill([
          'metadata.deletionTimestamp: Invalid value: 2001-01-01 00:00:00 +0000 UTC: field is immutable',
          'metadata.deletionGracePeriodSeconds: Invalid value: 9: field is immutable',
        ])
        .flat(),
    );
    assert.equal((await put({ creationTimestamp: '2001-01-01T00:00:00Z', generation: 7 })).status, 200);
    assert.equal(server.revision, Number(resourceVersion), 'nothing of that is a change');
  });

  it('a Scale says what it is, or nothing of it', async () => {
    const { metadata } = await server.make('sized');
    const scale = (over: object) => ({ metadata: { name: 'sized' }, spec: { replicas: 2 }, ...over });
    const put = async (over: object) => (await server.send('PUT', `${WIDGETS}/sized/scale`, scale(over))).status;
    assert.equal(await put({ kind: 'Widget' }), 400);
    assert.equal(await put({ apiVersion: 'demo.example.com/v1' }), 400);
    assert.equal(await put({ metadata: { name: 'other' } }), 400);
    assert.equal(await put({ metadata: { name: 'sized', uid: 'other' } }), 409);
    assert.equal(await put({ spec: { replicas: -1 } }), 422);
    assert.equal(await put({ metadata: { name: 'sized', uid: metadata.uid } }), 200);
    const scaled = await server.ok('PATCH', `${WIDGETS}/sized/scale`, { kind: null, spec: { replicas: 3 } }, MERGE);
    assert.deepEqual([scaled.kind, scaled.spec], ['Scale', { replicas: 3 }]);
  });

  it('a namespace in the body is that of the path, but a cluster has none', async () => {
    const create = async (namespace: string) =>
      (await server.send('POST', `${WIDGETS}?dryRun=All`, widget('n', { metadata: { namespace } }))).status;
    assert.deepEqual([await create(''), await create('demo'), await create('default')], [201, 201, 400]);
    const gadget = { apiVersion: 'demo.example.com/v1', kind: 'Gadget', metadata: { name: 'g', namespace: 'default' } };
    const made = await server.ok('POST', GADGETS, { ...gadget, spec: {} });
    assert.equal(made.metadata.namespace, undefined);
    assert.equal(
      (await server.send('POST', NAMESPACES, { metadata: { name: 'x', resourceVersion: '1' } })).status,
      400,
    );
  });
});

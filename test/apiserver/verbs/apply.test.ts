import assert from 'node:assert/strict';
import { controllerIdentity, type Identity } from '../../../apiserver/auth/identity.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import type { ManagedFieldsEntry } from '../../../resources/meta/object.ts';
import { RawWatch } from '../../harness/raw.ts';
import { JSON_PATCH, MERGE, NAMESPACES, WIDGETS, WidgetServer, widget } from './widget-server.ts';

const APPLY = 'application/apply-patch+yaml';

describe('apply', () => {
  let clock: ManualClock;
  let server: WidgetServer;
  before(async () => {
    clock = new ManualClock(Date.UTC(2030, 0, 1));
    server = await WidgetServer.start({ clock });
  });
  after(() => server[Symbol.asyncDispose]());

  const url = (name: string, query = 'fieldManager=a') => `${WIDGETS}/${name}?${query}`;
  const put = (name: string, over: Parameters<typeof widget>[1] = {}, query?: string) =>
    server.ok('PATCH', url(name, query), widget(name, over), APPLY);
  const refused = async (name: string, body: unknown, query = 'fieldManager=a', path = '') => {
    const { status, body: answer } = await server.send('PATCH', `${WIDGETS}/${name}${path}?${query}`, body, APPLY);
    return `${status} ${answer.message}`;
  };
  const owners = (entries: readonly ManagedFieldsEntry[] | undefined) =>
    (entries ?? []).map(
      ({ manager, operation, subresource }) =>
        `${manager} ${operation}${subresource === undefined ? '' : `/${subresource}`}`,
    );

  it('makes what is not there, with 201, and changes what is, with 200', async () => {
    const first = await server.send('PATCH', url('made'), widget('made'), APPLY);
    assert.equal(first.status, 201);
    assert.deepEqual(first.body.spec, { size: 'small', color: 'grey', replicas: 1, maxReplicas: 10 });
    const [entry] = (first.body.metadata?.managedFields ?? []) as readonly ManagedFieldsEntry[];
    assert.deepEqual(entry?.fieldsV1, { 'f:spec': { 'f:size': {} } }, 'defaults are nobody’s');
    assert.equal(entry?.time, '2030-01-01T00:00:00Z');
    const second = await server.send('PATCH', url('made'), widget('made', { spec: { color: 'red' } }), APPLY);
    assert.deepEqual([second.status, second.body.metadata?.generation], [200, 2]);
  });

  it('writes nothing when nothing changes, however often and late', async () => {
    const made = await put('still', { metadata: { labels: { a: 'b' } } });
    const { revision } = server;
    await clock.advance(120_000);
    assert.deepEqual(await put('still', { metadata: { labels: { a: 'b' } } }), made);
    await put('still', { metadata: { labels: { a: 'b' } } }, 'fieldManager=a&dryRun=All');
    assert.equal(server.revision, revision);
    const shared = await put('still', { metadata: { labels: { a: 'b' } } }, 'fieldManager=b');
    assert.deepEqual(owners(shared.metadata.managedFields), ['b Apply', 'a Apply'], 'a new owner is a change');
    assert.equal(shared.metadata.managedFields?.[0]?.time, undefined, 'that altered no value');
  });

  it('tells watchers of what changed, once', async () => {
    const { metadata } = await put('seen');
    await using watch = await RawWatch.open(
      server.app,
      `${WIDGETS}?watch=true&resourceVersion=${metadata.resourceVersion}`,
    );
    await put('seen');
    await put('seen', { spec: { size: 'large' } });
    const event = await watch.next();
    assert.deepEqual([event?.type, event?.object.spec?.size], ['MODIFIED', 'large']);
  });

  it('reads YAML, and JSON with 64-bit integers', async () => {
    const yaml = [
      'apiVersion: demo.example.com/v1',
      'kind: Widget',
      'metadata: {name: yaml, labels: &l {a: "1"}, annotations: *l}',
      'spec:',
      '  size: small # the smallest',
      '  tags: [x]',
    ].join('\n');
    const made = await server.ok('PATCH', url('yaml'), yaml, APPLY);
    assert.deepEqual([made.spec?.tags, made.metadata.labels], [['x'], { a: '1' }]);
    const big = JSON.stringify(widget('yaml', { spec: { serial: 1 } })).replace(
      '"serial":1',
      '"serial":9007199254740993',
    );
    const { text } = await server.send('PATCH', url('yaml'), big, APPLY);
    assert.match(text, /"serial":9007199254740993/);
  });

  it('refuses what is not one object of this kind and name', async () => {
    await put('odd');
    const cases: [unknown, RegExp][] = [
      ['a: [', /^400 error decoding YAML; yaml parse error: line 1: /],
      ['a: 1\na: 2', /^400 the applied configuration: /],
      ['a: &a\n  b: *a', /^400 error decoding YAML; yaml parse error: /],
      ['- 1', /^400 error decoding YAML: /],
      [
        `x: &x [1, 2]\n${Array.from({ length: 101 }, (_, i) => `y${i}: *x`).join('\n')}`,
        /^400 error decoding YAML; yaml parse error: .*alias/,
      ],
      [{ ...widget('odd'), apiVersion: 'demo.example.com/v2' }, /^400 the API version in the data/],
      [{ ...widget('odd'), kind: 'Gadget' }, /^400 /],
      [widget('other'), /^400 the name of the object \(other\)/],
      [widget('odd', { metadata: { namespace: 'x' } }), /^400 the namespace of the provided object/],
      [widget('odd', { metadata: { managedFields: [] } }), /^400 metadata.managedFields must be nil/],
      [
        widget('odd', { spec: { bogus: 1 } }),
        /^400 failed to create typed patch object .*\.spec\.bogus: field not declared/,
      ],
      [widget('odd', { spec: { size: 'huge' } }), /^422 .*spec\.size: Unsupported value/],
      [widget('odd', { spec: { owner: null } }), /^422 .*spec\.owner/],
    ];
    for (const [body, message] of cases) assert.match(await refused('odd', body), message);
    assert.match(await refused('odd', widget('odd'), ''), /^422 .*fieldManager: Required value/);
    assert.match(
      await refused('odd', widget('odd'), `fieldManager=${'x'.repeat(129)}`),
      /^422 .*fieldManager: Too long/,
    );
  });

  it('keeps to the uid and version it names', async () => {
    const { metadata } = await put('lock');
    assert.match(await refused('lock', widget('lock', { metadata: { uid: 'x' } })), /^422 .*metadata.uid: .*immutable/);
    assert.match(
      await refused('lock', widget('lock', { metadata: { resourceVersion: '1' } })),
      /^409 .*has been modified/,
    );
    assert.match(
      await refused('gone', widget('gone', { metadata: { uid: 'x' } })),
      /^409 .*no existing object was found/,
    );
    await put('unlocked', { metadata: { resourceVersion: '1' } });
    assert.match(await refused('lock', { ...widget('lock'), metadata: {} }), /^400 .*name must be provided/);
    const { uid, resourceVersion } = metadata;
    await put('lock', { metadata: { uid, resourceVersion }, spec: { size: 'large' } });
  });

  it('of the status is apart from the rest, and there only for what exists', async () => {
    await put('parts', { status: { phase: 'Sneaky' } });
    assert.match(await refused('none', widget('none'), 'fieldManager=a', '/status'), /^404 /);
    const body = widget('parts', { spec: { size: 'large' }, status: { phase: 'Up' } });
    const done = await server.ok('PATCH', `${WIDGETS}/parts/status?fieldManager=a`, body, APPLY);
    assert.deepEqual([done.spec?.size, done.status, done.metadata.generation], ['small', { phase: 'Up' }, 1]);
    assert.deepEqual(owners(done.metadata.managedFields).sort(), ['a Apply', 'a Apply/status']);
    const other = widget('parts', { status: { phase: 'Down' } });
    const conflict = await refused('parts', other, 'fieldManager=b', '/status');
    assert.equal(
      conflict,
      '409 Apply failed with 1 conflict: conflict with "a" with subresource "status": .status.phase',
    );
  });

  it('of the scale owns the replicas', async () => {
    await put('scaled', { spec: { replicas: 1 } });
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'scaled' }, spec: { replicas: 3 } };
    const path = `${WIDGETS}/scaled/scale?fieldManager=hpa`;
    const conflict = await server.send('PATCH', path, scale, APPLY);
    assert.match(conflict.body.message ?? '', /conflict with "a": \.spec\.replicas$/);
    await server.ok('PATCH', `${path}&force=true`, scale, APPLY);
    const { spec, metadata } = await server.ok('GET', `${WIDGETS}/scaled`);
    assert.equal(spec?.replicas, 3);
    assert.deepEqual(owners(metadata.managedFields).sort(), ['a Apply', 'hpa Apply/scale']);
    await server.ok('PATCH', `${WIDGETS}/scaled/scale?fieldManager=me`, { spec: { replicas: 4 } }, MERGE);
    const { managedFields } = (await server.ok('GET', `${WIDGETS}/scaled`)).metadata;
    assert.deepEqual(owners(managedFields).sort(), ['a Apply', 'me Update/scale']);
  });

  it('in a dry run answers the object it would make, and makes none', async () => {
    const { revision } = server;
    const { status, body } = await server.send('PATCH', url('dry', 'fieldManager=a&dryRun=All'), widget('dry'), APPLY);
    assert.deepEqual([status, body.spec?.color, body.metadata?.resourceVersion], [201, 'grey', undefined]);
    assert.equal(server.revision, revision);
  });

  it('needs a namespace, and leave to create', async () => {
    const missing = await server.send('PATCH', url('x').replace('/demo/', '/nowhere/'), widget('x'), APPLY);
    assert.equal(`${missing.status} ${missing.body.message}`, '404 namespaces "nowhere" not found');
    const headers = { 'content-type': APPLY };
    const identity: Identity = controllerIdentity('placement');
    const vm = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: 'x' }, spec: { image: 'i' } };
    const path = '/apis/coppice.dev/v1/namespaces/demo/vms/x?fieldManager=p';
    const { status, body } = await server.send('PATCH', path, vm, undefined, { headers, identity });
    assert.equal(status, 403);
    assert.match(body.message ?? '', /cannot create resource "vms"/);
  });

  it('merges built-in kinds too: finalizers one by one, owners by uid', async () => {
    const namespace = (finalizers: string[]) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'core', finalizers },
    });
    const path = (manager: string) => `${NAMESPACES}/core?fieldManager=${manager}`;
    await server.ok('PATCH', path('a'), namespace(['x.io/a']), APPLY);
    const both = await server.ok('PATCH', path('b'), namespace(['x.io/b']), APPLY);
    assert.deepEqual(both.metadata.finalizers, ['x.io/a', 'x.io/b']);
    const left = await server.ok('PATCH', path('a'), namespace([]), APPLY);
    assert.deepEqual(left.metadata.finalizers, ['x.io/b']);
  });

  describe('after other writes', () => {
    it('knows whose they were: the field manager, the program, or nobody known', async () => {
      await server.ok('POST', `${WIDGETS}?fieldManager=maker`, widget('who'));
      const more = { headers: { 'user-agent': 'tool/1.2 (linux)' } };
      await server.send('PATCH', `${WIDGETS}/who`, { spec: { color: 'red' } }, MERGE, more);
      const done = await server.ok('PATCH', `${WIDGETS}/who`, { spec: { size: 'large' } }, MERGE);
      assert.deepEqual(owners(done.metadata.managedFields).sort(), ['maker Update', 'tool Update', 'unknown Update']);
      const long = { headers: { 'user-agent': `${'ü'.repeat(100)}/1` } };
      const { body } = await server.send('PATCH', `${WIDGETS}/who`, { spec: { replicas: 2 } }, MERGE, long);
      const entries = (body.metadata?.managedFields ?? []) as readonly ManagedFieldsEntry[];
      assert.ok(
        entries.some(({ manager }) => manager === 'ü'.repeat(64)),
        'no longer than 128 bytes',
      );
    });

    it('a record is kept by those who leave it out, begun anew by an empty one, and kept from a broken one', async () => {
      const made = await put('record');
      const write = (managedFields?: unknown) =>
        server.ok('PATCH', `${WIDGETS}/record`, { metadata: { labels: { l: 'x' }, managedFields } }, MERGE);
      assert.ok(owners((await write()).metadata.managedFields).includes('a Apply'));
      assert.ok(owners((await write([{ operation: 'Own' }])).metadata.managedFields).includes('a Apply'));
      assert.equal((await write([])).metadata.managedFields, undefined);
      assert.equal((await server.ok('GET', `${WIDGETS}/record`)).metadata.uid, made.metadata.uid);
      await put('record');
      assert.equal((await write([{}])).metadata.managedFields, undefined);
      const again = await put('record', {}, 'fieldManager=b');
      assert.deepEqual(owners(again.metadata.managedFields).sort(), ['b Apply', 'before-first-apply Update']);
    });

    it('kubectl takes over what it applied from the client, and its annotation keeps up; others do not', async () => {
      const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
      const config = {
        apiVersion: 'demo.example.com/v1',
        kind: 'Widget',
        metadata: { name: 'taken' },
        spec: { size: 'small' },
      };
      const metadata = { annotations: { [annotation]: JSON.stringify(config) } };
      const made = widget('taken', { metadata, spec: { color: 'red' } });
      await server.ok('POST', `${WIDGETS}?fieldManager=kubectl-client-side-apply`, made);
      assert.match(await refused('taken', widget('taken', { spec: { size: 'large' } })), /^409 .*\.spec\.size/);
      const color = widget('taken', { spec: { size: 'large', color: 'blue' } });
      assert.match(await refused('taken', color, 'fieldManager=kubectl'), /^409 .* 1 conflict: .*\.spec\.color$/);
      const done = await put('taken', { spec: { size: 'large' } }, 'fieldManager=kubectl');
      const annotations = (done.metadata as { annotations?: Record<string, string> }).annotations ?? {};
      const applied = { ...config, spec: { size: 'large' } };
      assert.equal(annotations[annotation], `${JSON.stringify(applied)}\n`);
    });

    it('a JSON patch may rewrite the record, under the version it names', async () => {
      const made = await server.ok('POST', `${WIDGETS}?fieldManager=old`, widget('json'));
      const [entry] = made.metadata.managedFields ?? [];
      const patch = (resourceVersion: string) => [
        { op: 'replace', path: '/metadata/managedFields', value: [{ ...entry, manager: 'new', operation: 'Apply' }] },
        { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
      ];
      assert.equal((await server.send('PATCH', `${WIDGETS}/json`, patch('1'), JSON_PATCH)).status, 409);
      const done = await server.ok('PATCH', `${WIDGETS}/json`, patch(made.metadata.resourceVersion), JSON_PATCH);
      assert.deepEqual(owners(done.metadata.managedFields), ['new Apply']);
      assert.notEqual(done.metadata.resourceVersion, made.metadata.resourceVersion);
    });

    it('a status that is written leaves the record of the rest alone', async () => {
      await put('status');
      const done = await server.ok(
        'PATCH',
        `${WIDGETS}/status/status?fieldManager=ctl`,
        { metadata: { managedFields: [] }, status: { phase: 'Up' } },
        MERGE,
      );
      assert.deepEqual(owners(done.metadata.managedFields), ['a Apply', 'ctl Update/status']);
      const { revision } = server;
      await server.ok('PATCH', `${WIDGETS}/status/status?fieldManager=other`, { status: { phase: 'Up' } }, MERGE);
      assert.equal(server.revision, revision, 'the same again writes nothing');
    });
  });
});

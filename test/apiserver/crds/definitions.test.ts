import assert from 'node:assert/strict';
import { controllerIdentity, hostIdentity } from '../../../apiserver/auth/identity.ts';
import { isObject, type JsonObject, valueAt } from '../../../resources/meta/object.ts';
import { CRDS, CrdServer, definition, MERGE, SPEC, schema, THING_CRD, THINGS, thing, version } from './crd-server.ts';

const condition = (object: unknown, type: string) => {
  const list = valueAt(object, ['status', 'conditions']);
  const found = Array.isArray(list) ? list.find((one) => valueAt(one, ['type']) === type) : undefined;
  return isObject(found) ? [found.status, found.reason] : undefined;
};
const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const cells = (table: JsonObject) => (table.rows as { cells: unknown[] }[]).map((row) => row.cells);
const headings = (table: JsonObject) => (table.columnDefinitions as { name: string }[]).map((column) => column.name);

describe('a CustomResourceDefinition', () => {
  it('is established by the write that makes it, with the names that follow from its kind', async () => {
    await using server = await CrdServer.start();
    const made = await server.ok('POST', CRDS, definition());
    assert.deepEqual(condition(made, 'Established'), ['True', 'InitialNamesAccepted']);
    assert.deepEqual(condition(made, 'NamesAccepted'), ['True', 'NoConflicts']);
    assert.deepEqual(valueAt(made, ['status', 'acceptedNames']), {
      plural: 'things',
      singular: 'thing',
      kind: 'Thing',
      listKind: 'ThingList',
    });
    assert.deepEqual(valueAt(made, ['status', 'storedVersions']), ['v1']);
    assert.deepEqual(valueAt(made, ['spec', 'conversion']), { strategy: 'None' });
    assert.equal(made.metadata?.generation, 1);
    assert.equal(made.metadata?.finalizers, undefined);
    assert.deepEqual(await server.ok('GET', THING_CRD), made);
  });

  it('is served by the time its creation is answered: in discovery, in OpenAPI, and for every verb', async () => {
    await using server = await CrdServer.start();
    assert.equal((await server.send('GET', THINGS)).status, 404);
    await server.ok('POST', CRDS, definition({}, { shortNames: ['th'], categories: ['all'] }));
    const listed = await server.ok('GET', '/apis/test.example.com/v1');
    const [resource] = listed.resources as JsonObject[];
    assert.deepEqual([resource?.name, resource?.shortNames, resource?.categories], ['things', ['th'], ['all']]);
    const index = await server.ok('GET', '/openapi/v3');
    const path = valueAt(index, ['paths', 'apis/test.example.com/v1', 'serverRelativeURL']);
    const document = await server.ok('GET', String(path));
    assert.ok(valueAt(document, ['components', 'schemas', 'com.example.test.v1.Thing', 'properties', 'spec']));
    await server.ok('POST', THINGS, thing('a'));
    await server.ok('PATCH', `${THINGS}/a`, { spec: { size: 2 } }, MERGE);
    const list = await server.ok('GET', THINGS);
    assert.deepEqual([list.kind, list.items?.length], ['ThingList', 1]);
    assert.equal((await server.send('POST', THINGS, thing('b', { spec: { size: 'big' } }))).status, 422);
    await server.ok('DELETE', `${THINGS}/a`);
  });

  it('shows what kubectl shows of it, and its objects by the columns it states, whatever their priority', async () => {
    await using server = await CrdServer.start();
    const columns = [
      { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
      { name: 'Label', type: 'string', jsonPath: '.metadata.labels.a\\.b', priority: 1, description: 'the label' },
    ];
    const selectableFields = [{ jsonPath: '.spec.size' }];
    const subresources = { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } };
    await server.ok(
      'POST',
      CRDS,
      definition({
        versions: [
          version('v1', {
            additionalPrinterColumns: columns,
            selectableFields,
            subresources,
            schema: schema(SPEC, { status: SPEC }),
          }),
        ],
      }),
    );
    await server.ok('POST', THINGS, { ...thing('a'), metadata: { name: 'a', labels: { 'a.b': 'x' } } });
    await server.ok('POST', THINGS, thing('b', { spec: { size: 2 } }));
    const table = (await server.send('GET', THINGS, undefined, undefined, { headers: TABLE })).body as JsonObject;
    assert.deepEqual(headings(table), ['Name', 'Size', 'Label']);
    assert.deepEqual(cells(table), [
      ['a', 1, 'x'],
      ['b', 2, null],
    ]);
    const some = await server.ok('GET', `${THINGS}?fieldSelector=spec.size%3D2`);
    assert.deepEqual(
      some.items?.map((item) => item.metadata.name),
      ['b'],
    );
    await server.ok('PATCH', `${THINGS}/a/scale`, { spec: { replicas: 5 } }, MERGE);
    await server.ok('PATCH', `${THINGS}/a/status`, { status: { size: 4 } }, MERGE);
    const scale = await server.ok('GET', `${THINGS}/a/scale`);
    assert.deepEqual([scale.spec?.replicas, valueAt(scale, ['status', 'replicas'])], [5, 4]);
    const crds = (await server.send('GET', `${CRDS}/things.test.example.com`, undefined, undefined, { headers: TABLE }))
      .body as JsonObject;
    assert.deepEqual(headings(crds), ['Name', 'Created At']);
    assert.match(String(cells(crds)[0]?.[1]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it('is judged by its new schema at once, and what is stored is shown by it', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition());
    await server.ok('POST', THINGS, thing('old', { spec: { size: 7 } }));
    const spec = {
      type: 'object',
      properties: { size: { type: 'string' }, color: { type: 'string', default: 'grey' } },
    };
    const versions = [version('v1', { schema: schema(spec) })];
    await server.ok('PATCH', THING_CRD, { spec: { versions } }, MERGE);
    assert.deepEqual(await server.refused('POST', THINGS, thing('new')), ['spec.size']);
    await server.ok('POST', THINGS, thing('new', { spec: { size: 'big' } }));
    assert.deepEqual((await server.ok('GET', `${THINGS}/old`)).spec, { size: 7, color: 'grey' });
    const narrow = [version('v1', { schema: schema({ type: 'object', properties: { color: { type: 'string' } } }) })];
    await server.ok('PATCH', THING_CRD, { spec: { versions: narrow } }, MERGE);
    assert.deepEqual((await server.ok('GET', `${THINGS}/new`)).spec, { color: 'grey' });
    const list = await server.ok('GET', THINGS);
    assert.deepEqual(
      list.items?.map((item) => valueAt(item, ['spec'])),
      [{ color: 'grey' }, {}],
    );
  });

  it('may restrict what its objects are called', async () => {
    await using server = await CrdServer.start();
    const metadata = { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } };
    await server.ok('POST', CRDS, definition({ versions: [version('v1', { schema: schema(SPEC, { metadata }) })] }));
    assert.deepEqual(await server.refused('POST', THINGS, thing('long')), ['metadata.name']);
    await server.ok('POST', THINGS, thing('ok'));
  });

  it('ends the watches of a kind that changes, and of none when only its definition is labelled', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition());
    const watch = server.send('GET', `${THINGS}?watch=true`);
    let ended = false;
    void watch.then(() => {
      ended = true;
    });
    await server.ok('PATCH', THING_CRD, { metadata: { labels: { a: 'b' } } }, MERGE);
    await server.ok('POST', THINGS, thing('a'));
    assert.equal(ended, false);
    await server.ok('PATCH', THING_CRD, { spec: { names: { shortNames: ['th'] } } }, MERGE);
    assert.match((await watch).text, /^{"type":"ADDED".*"name":"a".*}\n$/);
  });

  it('is refused with a cause a fault, and told of unknown fields deep in its schema as it asks', async () => {
    await using server = await CrdServer.start();
    const wrong = definition({
      versions: [version('v1', { schema: schema({ type: 'object', properties: { a: {} } }) })],
    });
    assert.deepEqual(await server.refused('POST', CRDS, wrong), [
      'spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].type',
    ]);
    assert.equal((await server.send('GET', THINGS)).status, 404);
    const odd = definition({
      versions: [version('v1', { schema: schema({ ...SPEC, readOnly: true, nullable: null }) })],
    });
    const strict = await server.send('POST', `${CRDS}?fieldValidation=Strict`, odd);
    assert.equal(strict.status, 400);
    assert.match(
      strict.body.message ?? '',
      /strict decoding error: unknown field "spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\.spec\.readOnly"$/,
    );
    const warned = await server.send('POST', CRDS, odd);
    assert.equal(warned.status, 201);
    assert.match(String(warned.headers.warning), /unknown field .*readOnly/);
    const kept = valueAt(warned.body, ['spec', 'versions']) as unknown[];
    assert.deepEqual(valueAt(kept[0], ['schema', 'openAPIV3Schema', 'properties', 'spec']), SPEC);
  });

  it('keeps its scope and kind, and the versions that something may be stored in', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition());
    const patch = (spec: JsonObject) => server.refused('PATCH', THING_CRD, { spec }, MERGE);
    assert.deepEqual(await patch({ scope: 'Namespaced' }), ['spec.scope']);
    assert.deepEqual(await patch({ names: { kind: 'Other' } }), ['spec.names.kind']);
    const both = [version('v1', { storage: false }), version('v2')];
    await server.ok('PATCH', THING_CRD, { spec: { versions: both } }, MERGE);
    assert.deepEqual(await patch({ versions: [version('v2')] }), ['status.storedVersions[0]']);
    await server.ok('PATCH', `${THING_CRD}/status`, { status: { storedVersions: ['v2'] } }, MERGE);
    const left = await server.ok('PATCH', THING_CRD, { spec: { versions: [version('v2')] } }, MERGE);
    assert.deepEqual(valueAt(left, ['status', 'storedVersions']), ['v2']);
    assert.equal((await server.send('GET', THINGS)).status, 404);
  });

  it('waits for a name that another has, and gets it in the write that frees it', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition());
    const second = await server.ok('POST', CRDS, definition({}, { plural: 'thingies' }));
    assert.deepEqual(condition(second, 'NamesAccepted'), ['False', 'ListKindConflict']);
    assert.deepEqual(condition(second, 'Established'), ['False', 'NotAccepted']);
    assert.equal((await server.send('GET', '/apis/test.example.com/v1/thingies')).status, 404);
    await server.ok('DELETE', THING_CRD);
    await server.ok('PATCH', THING_CRD, { metadata: { finalizers: null } }, MERGE);
    const heir = await server.ok('GET', `${CRDS}/thingies.test.example.com`);
    assert.deepEqual(condition(heir, 'Established'), ['True', 'InitialNamesAccepted']);
    await server.ok('POST', '/apis/test.example.com/v1/thingies', thing('a'));
    assert.equal((await server.send('GET', THINGS)).status, 404);
  });

  it('keeps serving by its old names when it asks for one that is taken', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition({}, { shortNames: ['th'] }));
    await server.ok('POST', CRDS, definition({}, { plural: 'others', kind: 'Other', shortNames: ['ot'] }));
    const other = await server.ok(
      'PATCH',
      `${CRDS}/others.test.example.com`,
      { spec: { names: { shortNames: ['th'] } } },
      MERGE,
    );
    assert.deepEqual(condition(other, 'NamesAccepted'), ['False', 'ShortNamesConflict']);
    assert.deepEqual(condition(other, 'Established'), ['True', 'InitialNamesAccepted']);
    assert.deepEqual(valueAt(other, ['status', 'acceptedNames', 'shortNames']), ['ot']);
  });

  it('is the operator’s to write, and for controllers to read', async () => {
    await using server = await CrdServer.start();
    const as = (identity: ReturnType<typeof controllerIdentity>) => (method: string, url: string, body?: unknown) =>
      server.send(method, url, body, undefined, { identity });
    const controller = as(controllerIdentity('tenant'));
    const host = as(hostIdentity('mac-1', 'uid'));
    assert.equal((await controller('POST', CRDS, definition())).status, 403);
    assert.equal((await controller('GET', CRDS)).status, 200);
    assert.equal((await host('GET', CRDS)).status, 403);
    assert.equal((await host('POST', CRDS, definition())).status, 403);
  });

  it('is refused in reserved groups', async () => {
    await using server = await CrdServer.start();
    for (const group of ['coppice.dev', 'more.coppice.dev', 'k8s.io', 'apps.k8s.io']) {
      const { status, body } = await server.send('POST', CRDS, definition({ group }));
      assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'ReservedGroup'], group);
    }
    assert.equal((await server.send('POST', CRDS, definition({ group: 'notcoppice.dev' }))).status, 201);
  });
});

describe('the definitions of our own kinds', () => {
  const VMS = `${CRDS}/vms.coppice.dev`;

  it('are there from the start, established, and the same on every start', async () => {
    await using server = await CrdServer.start();
    const { items = [] } = await server.ok('GET', CRDS);
    assert.deepEqual(
      items.map((item) => item.metadata.name),
      ['hosts', 'images', 'leases', 'leasesets', 'policies', 'pools', 'pricelists', 'tenants', 'vms', 'volumes'].map(
        (plural) => `${plural}.coppice.dev`,
      ),
    );
    for (const item of items) assert.deepEqual(condition(item, 'Established'), ['True', 'InitialNamesAccepted']);
    const { store } = server.test;
    const before = store.revision();
    await using again = await CrdServer.start({ store });
    assert.equal(store.revision(), before, 'starting again wrote something');
    assert.deepEqual((await again.ok('GET', CRDS)).items, items);
  });

  it('are read only: no change, no deletion, alone or with all others', async () => {
    await using server = await CrdServer.start();
    const before = await server.ok('GET', VMS);
    const forbidden = async (method: string, url: string, body?: unknown, type?: string) => {
      const { status, body: answer } = await server.send(method, url, body, type);
      assert.deepEqual([status, answer.details?.causes?.[0]?.reason], [403, 'BuiltInKind'], `${method} ${url}`);
    };
    await forbidden('DELETE', VMS);
    await forbidden('DELETE', CRDS);
    await forbidden('PATCH', VMS, { metadata: { labels: { a: 'b' } } }, MERGE);
    await forbidden('PATCH', VMS, { spec: { names: { shortNames: ['x'] } } }, MERGE);
    await forbidden('PATCH', `${VMS}/status`, { status: { conditions: [{ type: 'Mine', status: 'True' }] } }, MERGE);
    await forbidden('PUT', VMS, { ...before, metadata: { ...before.metadata, finalizers: ['a.b/c'] } });
    assert.deepEqual(await server.ok('GET', VMS), before);
    assert.equal((await server.send('POST', CRDS, before)).status, 400);
  });

  it('let tools keep their record of having applied them, and change by nothing', async () => {
    await using server = await CrdServer.start();
    const before = await server.ok('GET', VMS);
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{"other":"words"}\n' };
    assert.deepEqual(await server.ok('PATCH', VMS, { metadata: { annotations } }, MERGE), before);
    assert.deepEqual(await server.ok('PATCH', VMS, { metadata: { annotations: null } }, MERGE), before);
  });
});

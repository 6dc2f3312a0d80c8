import assert from 'node:assert/strict';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { type Logger, silentLogger } from '../../../resources/ambient/log.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { quiesce } from '../../harness/eventually.ts';
import { FarStore } from '../../harness/far-store.ts';
import { until } from '../../harness/until.ts';
import { CRDS, CrdServer, definition, MERGE, schema, THING_CRD, THINGS, thing, version } from './crd-server.ts';

const put = async (store: MemoryStore, key: string, object: JsonObject) => {
  const value = new TextEncoder().encode(JSON.stringify(object));
  await store.txn({ compares: [], puts: [{ key, value }], deletes: [] }).done;
};
const metadata = (name: string) => ({ name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' });

describe('the kinds a server serves', () => {
  it('are those of the definitions in the store after a restart, with their objects', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    {
      await using server = await CrdServer.start({ store });
      await server.ok('POST', CRDS, definition());
      await server.ok('POST', THINGS, thing('a'));
    }
    await using again = await CrdServer.start({ store });
    assert.deepEqual((await again.ok('GET', `${THINGS}/a`)).spec, { size: 1 });
    assert.equal((await again.send('POST', THINGS, thing('b', { spec: { size: 'x' } }))).status, 422);
  });

  it('are the same on another server over the store, from the answer on', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    await using one = await CrdServer.start({ store });
    await using two = await CrdServer.start({ store });
    await one.ok('POST', CRDS, definition());
    await two.ok('POST', THINGS, thing('a'));
    const versions = [version('v1', { schema: schema({ type: 'object', properties: { size: { type: 'string' } } }) })];
    await two.ok('PATCH', THING_CRD, { spec: { versions } }, MERGE);
    await until('the other judges by the new schema', async () => {
      const { status } = await one.send('POST', `${THINGS}?dryRun=All`, thing('b'));
      return status === 422;
    });
    await one.ok('DELETE', THING_CRD);
    await one.ok('PATCH', THING_CRD, { metadata: { finalizers: null } }, MERGE);
    await until('the other serves it no longer', async () => (await two.send('GET', THINGS)).status === 404);
  });

  it('are served before their definition is answered, however late the cache is', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(store);
    await using server = await CrdServer.start({ store: far });
    const release = far.hold();
    let answered = false;
    const made = server.ok('POST', CRDS, definition()).then(() => {
      answered = true;
    });
    const key = 'objects/apiextensions.k8s.io/customresourcedefinitions/things.test.example.com';
    await until('it is written', async () => (await store.get(key)) !== undefined);
    await quiesce();
    assert.equal(answered, false);
    release();
    await made;
    assert.ok(server.test.server.registry.has('test.example.com/things'));
  });

  it('are looked for again once every acknowledged write is seen', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    const late = new (class extends FarStore {
      override revision(): number {
        return store.revision();
      }
    })(store);
    await using one = await CrdServer.start({ store });
    await using two = await CrdServer.start({ store: late });
    const release = late.hold();
    await one.ok('POST', CRDS, definition());
    const list = two.send('GET', THINGS);
    await quiesce();
    release();
    assert.equal((await list).status, 200);
  });

  it('make nothing that the deletion of a definition on another server would miss', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(store);
    await using one = await CrdServer.start({ store });
    await using two = await CrdServer.start({ store: far });
    await one.ok('POST', CRDS, definition());
    await until('the other serves it', async () => (await two.send('GET', THINGS)).status === 200);
    far.beforeTxn = async () => {
      far.beforeTxn = async () => {};
      await one.ok('DELETE', THING_CRD);
    };
    const { status, body } = await two.send('POST', THINGS, thing('late'));
    assert.deepEqual([status, body.reason], [405, 'MethodNotAllowed']);
    assert.match(body.message ?? '', /things\.test\.example\.com is being deleted/);
    assert.deepEqual((await one.ok('GET', THINGS)).items, []);
  });

  it('give one name to one of two definitions made on two servers at once', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(store);
    await using one = await CrdServer.start({ store });
    await using two = await CrdServer.start({ store: far });
    far.beforeTxn = async () => {
      far.beforeTxn = async () => {};
      await one.ok('POST', CRDS, definition());
    };
    const late = await two.ok('POST', CRDS, definition({}, { plural: 'thingies' }));
    const accepted = JSON.stringify(late.status);
    assert.match(accepted, /"type":"NamesAccepted","status":"False"/);
    assert.equal((await two.send('GET', '/apis/test.example.com/v1/thingies')).status, 404);
  });

  it('never keep a server from starting, whatever is in the store', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    await put(store, 'objects/gone.example.com/ghosts/ns/g1', {
      apiVersion: 'gone.example.com/v1',
      kind: 'Ghost',
      metadata: { ...metadata('g1'), namespace: 'ns' },
    });
    const established = {
      conditions: [{ type: 'Established', status: 'True' }],
      acceptedNames: { plural: 'bads', kind: 'Bad' },
    };
    const key = (name: string) => `objects/apiextensions.k8s.io/customresourcedefinitions/${name}`;
    const broken: Readonly<Record<string, JsonObject>> = {
      'bads.a.example.com': {
        spec: {
          group: 'a.example.com',
          names: {},
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string', pattern: '(' } } } },
            },
          ],
        },
        status: established,
      },
      'bads.b.example.com': { spec: {}, status: established },
      'bads.c.example.com': {},
      nodot: { spec: 7 },
      'vms.coppice.dev': {
        spec: { group: 'coppice.dev', names: { plural: 'vms', kind: 'Fake' }, versions: [] },
        status: established,
      },
    };
    for (const [name, rest] of Object.entries(broken)) {
      await put(store, key(name), {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: metadata(name),
        ...rest,
      });
    }
    const told: string[] = [];
    const log: Logger = {
      ...silentLogger,
      error: (message, fields) => told.push(`${message}: ${String(fields?.name)}`),
    };
    await using server = await CrdServer.start({ store, log });
    assert.deepEqual(told.sort(), [
      'a CustomResourceDefinition in the store cannot be served: bads.a.example.com',
      'a CustomResourceDefinition in the store cannot be served: bads.b.example.com',
    ]);
    const { items = [] } = await server.ok('GET', CRDS);
    const ours = BUILT_IN_KINDS.filter(({ origin }) => origin === 'coppice');
    assert.equal(items.length, ours.length + 4, 'ours, and four broken');
    await server.ok('GET', '/apis/coppice.dev/v1/vms');
    assert.equal(
      (await server.send('PATCH', `${CRDS}/bads.b.example.com`, { metadata: { labels: { a: 'b' } } }, MERGE)).status,
      422,
    );
    await server.ok('PUT', `${CRDS}/bads.b.example.com`, {
      ...definition({ group: 'b.example.com' }, { plural: 'bads', kind: 'Bad' }),
    });
    await server.ok('GET', '/apis/b.example.com/v1/bads');
    for (const name of ['bads.c.example.com', 'nodot']) await server.ok('DELETE', `${CRDS}/${name}`);
    await server.ok(
      'POST',
      CRDS,
      definition({ group: 'gone.example.com', scope: 'Namespaced' }, { plural: 'ghosts', kind: 'Ghost' }),
    );
    const ghosts = await server.ok('GET', '/apis/gone.example.com/v1/ghosts');
    assert.equal(ghosts.items?.length, 1);
  });
});

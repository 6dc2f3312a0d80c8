import assert from 'node:assert/strict';
import { CLEANUP_FINALIZER } from '../../../resources/kinds/custom-resource-definition.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { CRDS, definition, MERGE, THING_CRD, thing, version } from '../../apiserver/crds/crd-server.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';

const THINGS = '/apis/test.example.com/v1/namespaces/red/things';
const ALL = '/apis/test.example.com/v1/things';

class Defined implements AsyncDisposable {
  readonly fleet: Fleet;

  private constructor(fleet: Fleet) {
    this.fleet = fleet;
  }

  /** Namespaces red and blue, and a kind of things, one in each. */
  static async start(over: JsonObject = {}): Promise<Defined> {
    const defined = new Defined(await Fleet.start());
    for (const name of ['red', 'blue']) await defined.ok('POST', '/api/v1/namespaces', { metadata: { name } });
    await defined.ok('POST', CRDS, definition({ scope: 'Namespaced', ...over }));
    await defined.ok('POST', THINGS, thing('a'));
    await defined.ok('POST', THINGS.replace('red', 'blue'), thing('b'));
    return defined;
  }

  send(method: string, url: string, body?: unknown, type = 'application/json'): Promise<RawAnswer> {
    const headers = { 'content-type': type };
    return send(this.fleet.test.server.app, method, url, { headers, ...(body === undefined ? {} : { body }) });
  }

  async ok(method: string, url: string, body?: unknown, type?: string): Promise<RawAnswer['body']> {
    const answer = await this.send(method, url, body, type);
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
    return answer.body;
  }

  async isGone(url: string): Promise<boolean> {
    return (await this.send('GET', url)).status === 404;
  }

  /** The keys of things in the store itself, whether they are served or not. */
  async stored(): Promise<readonly string[]> {
    const { entries } = await this.fleet.test.store.range({ prefix: 'objects/test.example.com/' });
    return entries.map((entry) => entry.key.split('/').slice(3).join('/'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fleet[Symbol.asyncDispose]();
  }
}

describe('the deletion of a CustomResourceDefinition', () => {
  it('deletes the objects in every namespace, then the kind', async () => {
    await using defined = await Defined.start();
    const watch = defined.send('GET', `${ALL}?watch=true`);
    defined.fleet.startControllers('garbage');
    const marked = await defined.ok('DELETE', THING_CRD);
    assert.deepEqual(marked.metadata?.finalizers, [CLEANUP_FINALIZER]);
    assert.match(JSON.stringify(marked.status), /"type":"Terminating","status":"True"/);
    await defined.fleet.eventually('the definition goes', () => defined.isGone(THING_CRD));
    assert.deepEqual(await defined.stored(), []);
    assert.equal((await defined.send('GET', ALL)).status, 404);
    assert.equal((await defined.send('GET', '/apis/test.example.com')).status, 404);
    const types = (await watch).text.match(/"type":"(ADDED|DELETED)"/g) ?? [];
    assert.deepEqual(types.map((type) => type.slice(8, -1)).sort(), ['ADDED', 'ADDED', 'DELETED', 'DELETED']);
  });

  it('waits for the finalizers of the objects, and lets nothing be made meanwhile', async () => {
    await using defined = await Defined.start();
    await defined.ok('PATCH', `${THINGS}/a`, { metadata: { finalizers: ['test.example.com/held'] } }, MERGE);
    defined.fleet.startControllers('garbage');
    await defined.ok('DELETE', THING_CRD);
    await defined.fleet.eventually('the free one goes', async () => (await defined.stored()).length === 1);
    await defined.fleet.clock.advance(60_000);
    await quiesce();
    assert.deepEqual(await defined.stored(), ['red/a']);
    assert.equal((await defined.send('POST', THINGS, thing('late'))).status, 405);
    assert.equal(await defined.isGone(THING_CRD), false);
    await defined.ok('PATCH', `${THINGS}/a`, { metadata: { finalizers: null } }, MERGE);
    await defined.fleet.eventually('the definition goes', () => defined.isGone(THING_CRD));
    assert.deepEqual(await defined.stored(), []);
  });

  it('reaches the objects of a kind that is served in no version', async () => {
    await using defined = await Defined.start();
    await defined.ok('PATCH', THING_CRD, { spec: { versions: [version('v1', { served: false })] } }, MERGE);
    assert.equal((await defined.send('GET', ALL)).status, 404);
    assert.equal((await defined.stored()).length, 2);
    defined.fleet.startControllers('garbage');
    await defined.ok('DELETE', THING_CRD);
    await defined.fleet.eventually('the definition goes', () => defined.isGone(THING_CRD));
    assert.deepEqual(await defined.stored(), []);
  });

  it('makes room for another kind of the same name, which begins empty', async () => {
    await using defined = await Defined.start();
    defined.fleet.startControllers('garbage');
    await defined.ok('DELETE', THING_CRD);
    await defined.fleet.eventually('the definition goes', () => defined.isGone(THING_CRD));
    await defined.ok('POST', CRDS, definition({ scope: 'Cluster' }));
    const list = await defined.ok('GET', ALL);
    assert.deepEqual(list.items, []);
    await defined.ok('POST', ALL, thing('a'));
    await quiesce();
    assert.deepEqual(await defined.stored(), ['a']);
    assert.deepEqual(defined.fleet.errors, []);
  });
});

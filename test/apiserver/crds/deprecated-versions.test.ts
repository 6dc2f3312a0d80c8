import assert from 'node:assert/strict';
import { CRDS, CrdServer, definition, MERGE, version } from './crd-server.ts';

const OLD = '/apis/test.example.com/v1beta1/things';
const NEW = '/apis/test.example.com/v1/things';
const TOLD = '299 - "test.example.com/v1beta1 Thing is deprecated; use test.example.com/v1 Thing"';

const withVersions = (versions: readonly unknown[]) => definition({ versions });
const old = (more: object = {}) => version('v1beta1', { storage: false, deprecated: true, ...more });

async function warnings(server: CrdServer, method: string, url: string, body?: unknown, type?: string) {
  const { headers } = await server.send(method, url, body, type);
  return [headers?.warning ?? []].flat();
}

describe('a deprecated version', () => {
  it('warns of itself with every answer, failures too, and of no other version', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, withVersions([version('v1'), old()]));
    const thing = (apiVersion: string) => ({ apiVersion, kind: 'Thing', metadata: { name: 'a' }, spec: { size: 1 } });
    const asked: readonly [string, string, unknown?, string?][] = [
      ['POST', OLD, thing('test.example.com/v1beta1')],
      ['GET', OLD],
      ['GET', `${OLD}/a`],
      ['GET', `${OLD}/none`],
      ['PATCH', `${OLD}/a`, { spec: { size: 2 } }, MERGE],
      ['PATCH', `${OLD}/a`, { spec: { size: 'x' } }, MERGE],
      ['DELETE', `${OLD}/a`],
    ];
    for (const [method, url, body, type] of asked) {
      assert.deepEqual(await warnings(server, method, url, body, type), [TOLD], `${method} ${url}`);
    }
    assert.deepEqual(await warnings(server, 'POST', NEW, thing('test.example.com/v1')), []);
    assert.deepEqual(await warnings(server, 'GET', `${NEW}/a`), []);
  });

  it('warns beside the other warnings of a request', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, withVersions([version('v1'), old({ deprecationWarning: 'move on' })]));
    const body = { apiVersion: 'test.example.com/v1beta1', kind: 'Thing', metadata: { name: 'a' }, spec: { nope: 1 } };
    assert.deepEqual(await warnings(server, 'POST', `${OLD}?fieldValidation=Warn`, body), [
      '299 - "move on"',
      '299 - "unknown field \\"spec.nope\\""',
    ]);
  });

  it('warns of itself alone when there is nothing better', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, withVersions([old({ storage: true })]));
    assert.deepEqual(await warnings(server, 'GET', OLD), ['299 - "test.example.com/v1beta1 Thing is deprecated"']);
  });

  it('has a warning of one line that can be shown', async () => {
    await using server = await CrdServer.start();
    for (const deprecationWarning of ['', 'a\nb', 'x'.repeat(257), 'a\u200bb']) {
      const refused = await server.refused('POST', CRDS, withVersions([version('v1'), old({ deprecationWarning })]));
      assert.deepEqual(refused, ['spec.versions[1].deprecationWarning']);
    }
  });
});

describe('all definitions at once', () => {
  it('are not deleted while one among them is built in, and none of them is; those selected are', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition({}, {}, { labels: { mine: 'yes' } }));
    const { status, body } = await server.send('DELETE', CRDS);
    assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'BuiltInKind']);
    const own = await server.ok('GET', `${CRDS}/things.test.example.com`);
    assert.equal(own.metadata?.deletionTimestamp, undefined);
    await server.ok('DELETE', `${CRDS}?labelSelector=mine%3Dyes`);
    const after = await server.send('GET', `${CRDS}/things.test.example.com`);
    assert.ok(after.status === 404 || after.body.metadata?.deletionTimestamp !== undefined);
  });

  it('have no generated names, since their names say what they define', async () => {
    await using server = await CrdServer.start();
    const { name: _, ...metadata } = { ...(definition().metadata as object), name: undefined };
    const named = { ...definition(), metadata: { ...metadata, generateName: 'things.test.example.com' } };
    assert.deepEqual(await server.refused('POST', CRDS, named), ['metadata.name']);
  });
});

import assert from 'node:assert/strict';
import { RawWatch } from '../../harness/raw.ts';
import { WidgetServer } from './widget-server.ts';

const SERVICES = '/api/v1/namespaces/demo/services';

/** Clients such as `kubectl cluster-info` look for services, and must find that there are none. */
describe('services', () => {
  let server: WidgetServer;
  before(async () => {
    server = await WidgetServer.start();
  });
  after(() => server[Symbol.asyncDispose]());

  it('are a list that is always empty, whatever it is asked for', async () => {
    for (const url of ['/api/v1/services', SERVICES, '/api/v1/namespaces/none/services?labelSelector=a%3Db']) {
      const { status, body } = await server.send('GET', url);
      const { kind, items } = body as { kind?: string; items?: unknown };
      assert.deepEqual([status, kind, items], [200, 'ServiceList', []], url);
    }
    const { status, body } = await server.send('GET', `${SERVICES}/a`);
    assert.deepEqual([status, body.message], [404, 'services "a" not found']);
  });

  it('may be watched', async () => {
    const initial = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    await using watch = await RawWatch.open(server.app, `${SERVICES}?watch=true&${initial}`);
    const event = await watch.next();
    assert.deepEqual([event?.type, event?.object.kind], ['BOOKMARK', 'Service'], 'nothing is there to begin with');
  });

  it('cannot be made, changed or deleted', async () => {
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' } };
    const writes = [
      ['POST', SERVICES, 'application/json'],
      ['PUT', `${SERVICES}/a`, 'application/json'],
      ['PATCH', `${SERVICES}/a?fieldManager=a`, 'application/apply-patch+yaml'],
      ['DELETE', `${SERVICES}/a`, undefined],
      ['DELETE', SERVICES, undefined],
    ] as const;
    for (const [method, url, type] of writes) {
      const { status, body } = await server.send(method, url, method === 'DELETE' ? undefined : service, type);
      assert.deepEqual([status, body.reason], [405, 'MethodNotAllowed'], method);
    }
  });
});

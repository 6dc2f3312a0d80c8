import assert from 'node:assert/strict';
import { controllerIdentity, serviceAccountIdentity } from '../../apiserver/auth/identity.ts';
import { MOST_REQUESTS } from '../../apiserver/request-limit.ts';
import { rawRequest, send } from '../harness/raw.ts';
import { startTestServer, type TestServer } from '../harness/server.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

describe('a server with more to answer than it takes on at once', () => {
  let test: TestServer;
  before(async () => {
    test = await startTestServer();
  });
  after(() => test[Symbol.asyncDispose]());

  it('says 429 and when to come again, but not to the duties of the fleet; and takes on more when some are done', async () => {
    const { app } = test.server;
    const sent = Promise.withResolvers<Uint8Array>();
    const slow = Array.from({ length: MOST_REQUESTS }, () =>
      app({ ...rawRequest('POST', CONFIG_MAPS), body: () => sent.promise }),
    );
    // Each has begun to wait for its body once a later one was answered.
    const refused = await send(app, 'GET', CONFIG_MAPS);
    assert.deepEqual([refused.status, refused.body.reason], [429, 'TooManyRequests']);
    assert.equal(refused.headers['retry-after'], '1');
    assert.equal(refused.body.details?.retryAfterSeconds, 1);
    const duty = await send(app, 'GET', '/apis/coppice.dev/v1/vms', { identity: controllerIdentity('placement') });
    assert.equal(duty.status, 200);
    assert.equal((await send(app, 'GET', '/readyz')).status, 200);
    sent.resolve(new TextEncoder().encode('nothing'));
    for (const { status } of await Promise.all(slow)) assert.equal(status, 400);
    assert.equal((await send(app, 'GET', CONFIG_MAPS)).status, 200);
  });

  it('says so to service accounts without the operator noticing', async () => {
    const { app } = test.server;
    const identity = serviceAccountIdentity('default', 'crowd');
    const crowds = new Set<string | undefined>();
    const sent = Promise.withResolvers<Uint8Array>();
    const slow = Array.from({ length: MOST_REQUESTS }, () =>
      app({
        ...rawRequest('POST', CONFIG_MAPS, { identity }),
        body: (_, crowd) => {
          crowds.add(crowd);
          return sent.promise;
        },
      }),
    );
    assert.equal((await send(app, 'GET', CONFIG_MAPS, { identity })).status, 429);
    assert.equal((await send(app, 'GET', CONFIG_MAPS)).status, 200);
    assert.deepEqual([...crowds], ['others'], 'their bodies have a room of their own');
    sent.resolve(new TextEncoder().encode('nothing'));
    await Promise.all(slow);
  });
});

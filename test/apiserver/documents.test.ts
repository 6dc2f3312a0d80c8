import assert from 'node:assert/strict';
import { health } from '../../apiserver/health.ts';
import { WidgetServer } from './verbs/widget-server.ts';

const V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

describe('documents', () => {
  it('are 304 without a type to whoever has them', async () => {
    await using server = await WidgetServer.start();
    for (const [path, accept] of [
      ['/apis', 'application/json'],
      ['/apis/demo.example.com/v1', '*/*'],
      ['/openapi/v2', 'application/json'],
      ['/openapi/v2', V2_PROTOBUF],
      ['/openapi/v3', 'application/json'],
      ['/openapi/v3/api/v1', 'application/json'],
    ] as const) {
      const { status, headers } = await server.send('GET', path, undefined, undefined, { headers: { accept } });
      assert.equal(status, 200, path);
      const known = { accept, 'if-none-match': String(headers.etag) };
      const again = await server.send('GET', path, undefined, undefined, { headers: known });
      assert.deepEqual([again.status, again.text, again.headers['content-type']], [304, '', undefined], path);
      assert.equal(again.headers.etag, headers.etag);
    }
  });

  it('may be kept for ever when their address holds their hash; another hash is answered with what is now', async () => {
    await using server = await WidgetServer.start();
    const index = JSON.parse((await server.send('GET', '/openapi/v3')).text) as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    const url = index.paths['apis/demo.example.com/v1']?.serverRelativeURL ?? '';
    const now = await server.send('GET', url);
    assert.equal(now.headers['cache-control'], 'public, immutable');
    assert.ok(now.headers.expires);
    const old = await server.send('GET', url.replace(/hash=.*/, 'hash=OLD'));
    assert.deepEqual([old.status, old.text, old.headers['cache-control']], [200, now.text, 'public']);
    assert.equal((await server.send('GET', '/openapi/v3/apis/nope.example.com/v1')).status, 404);
  });

  it('of another version of the core group is a Status, as Kubernetes has it', async () => {
    await using server = await WidgetServer.start();
    const { status, body } = await server.send('GET', '/api/v9');
    assert.deepEqual([status, body.kind, body.reason], [404, 'Status', 'NotFound']);
  });

  it('of groups that are not served are 404 in plain text', async () => {
    await using server = await WidgetServer.start();
    for (const path of [
      '/apis/nope.example.com',
      '/apis/nope.example.com/v1',
      '/apis/core/v1/namespaces',
      '/healthz/nope',
      '/nope',
    ]) {
      const { status, text, headers } = await server.send('GET', path);
      assert.deepEqual([status, text], [404, '404 page not found'], path);
      assert.match(String(headers['content-type']), /^text\/plain/);
    }
  });
});

describe('health', () => {
  const ping = { name: 'ping', failure: () => undefined };
  const lost = { name: 'store', failure: () => 'gone' };
  const asked = (query: string, checks = [ping, lost], one?: string) => {
    const { status, body } = health('readyz', checks, one, new URLSearchParams(query)) ?? { status: 404, body: '' };
    return [status, body instanceof Uint8Array ? new TextDecoder().decode(body) : ''];
  };

  it('is ok in one word, or check by check', () => {
    assert.deepEqual(asked('', [ping]), [200, 'ok']);
    assert.deepEqual(asked('verbose', [ping]), [200, '[+]ping ok\nreadyz check passed\n']);
    assert.deepEqual(asked('', [ping], 'ping'), [200, 'ok']);
    assert.deepEqual(asked('', [ping], 'nope'), [404, '']);
  });

  it('tells every check when one fails', () => {
    assert.deepEqual(asked(''), [503, '[+]ping ok\n[-]store failed: gone\nreadyz check failed\n']);
    assert.deepEqual(asked('', [ping, lost], 'store'), [503, 'not ready: gone']);
    assert.deepEqual(asked('', [ping, lost], 'ping'), [200, 'ok']);
  });

  it('leaves out what is excluded, and says when that is no check', () => {
    assert.deepEqual(asked('exclude=store'), [200, 'ok']);
    assert.deepEqual(asked('exclude=store&exclude=ping&verbose=1'), [
      200,
      '[+]ping excluded: ok\n[+]store excluded: ok\nreadyz check passed\n',
    ]);
    assert.deepEqual(asked('exclude=b&exclude=a&verbose', [ping]), [
      200,
      '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "a", "b"\nreadyz check passed\n',
    ]);
  });
});

import assert from 'node:assert/strict';
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { ApiClient, bodyText } from '../../../apiserver/client/client.ts';
import { MultiplexedTransport } from '../../../apiserver/client/multiplexed-transport.ts';
import { VMS } from '../../../cli/vm-ref.ts';
import { FakeApi, TOKEN } from '../../harness/fake-api.ts';
import { H2Server } from '../../harness/h2-server.ts';
import { until } from '../../harness/until.ts';

const authorization = async () => `Bearer ${TOKEN}`;
const GET = { method: 'GET', path: '/version' };
const POST = { method: 'POST', path: '/', body: Buffer.from('{}') };

const ok = (stream: ServerHttp2Stream) => {
  stream.respond({ ':status': 200 });
  stream.end('ok');
};

describe('requests over one connection to a server', () => {
  const openApi = async (held: AsyncDisposableStack) => {
    const api = held.use(await FakeApi.start(true));
    const tls = { server: api.url, ca: api.certificate.ca, authorization };
    return { api, tls };
  };
  const watchOn = (transport: MultiplexedTransport, signal = new AbortController().signal) =>
    new ApiClient(transport.send).resource(VMS, 'demo').watch({ resourceVersion: '999' }, signal);

  it('share it, those that come before it is there and watches too', async () => {
    await using held = new AsyncDisposableStack();
    const { api, tls } = await openApi(held);
    const transport = held.use(new MultiplexedTransport(tls));
    await Promise.all([
      watchOn(transport),
      watchOn(transport),
      ...[1, 2, 3].map(() => transport.send(GET).then(bodyText)),
    ]);
    assert.equal(api.multiplexed, 1);
    assert.equal(api.requests.length, 5);
  });

  it('go over another when what is shown on it was renewed; what is under way is not cut', async () => {
    await using held = new AsyncDisposableStack();
    const { api, tls } = await openApi(held);
    const connection = { ...tls };
    const transport = held.use(new MultiplexedTransport(connection));
    const stop = new AbortController();
    const events = (await watchOn(transport, stop.signal))[Symbol.asyncIterator]();
    connection.ca = `${tls.ca}\n`;
    await bodyText(await transport.send(GET));
    assert.equal(api.multiplexed, 2);
    api.put('vms', { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: 'w1', namespace: 'demo' } });
    assert.equal((await events.next()).value?.object.metadata.name, 'w1');
    stop.abort(new Error('enough'));
    await assert.rejects(async () => events.next(), { message: 'enough' });
    await until('the connection with the old ones is over', () => api.multiplexed === 1);
    assert.equal((await transport.send(GET)).status, 200);
  });

  it('are read again when the connection ends just as they go out', async () => {
    let calls = 0;
    await using server = await H2Server.start((stream) => {
      if (++calls === 2) server.sockets[0]?.destroy();
      else ok(stream);
    });
    await using transport = new MultiplexedTransport(server.connection);
    assert.equal(await bodyText(await transport.send(GET)), 'ok');
    assert.equal(await bodyText(await transport.send(GET)), 'ok');
    assert.deepEqual([calls, server.sockets.length], [3, 2]);
  });

  it('are written once: what the connection took along may have been done', async () => {
    let calls = 0;
    await using server = await H2Server.start((stream) => {
      if (++calls === 2) server.sockets[0]?.destroy();
      else ok(stream);
    });
    await using transport = new MultiplexedTransport(server.connection);
    await bodyText(await transport.send(POST));
    await assert.rejects(transport.send(POST), { name: 'UnreachableError', reason: 'broken', sent: true });
    assert.equal(calls, 2);
    assert.equal(await bodyText(await transport.send(POST)), 'ok');
  });

  for (const [how, refuse] of [
    ['refuses', (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM)],
    ['says goodbye before', (stream: ServerHttp2Stream) => stream.session?.goaway(0, (stream.id ?? 0) - 2)],
  ] as const)
    it(`are written again when the server certainly ${how} them`, async () => {
      let calls = 0;
      await using server = await H2Server.start((stream) => (++calls === 2 ? refuse(stream) : ok(stream)));
      await using transport = new MultiplexedTransport(server.connection);
      assert.equal(await bodyText(await transport.send(POST)), 'ok');
      assert.equal(await bodyText(await transport.send(POST)), 'ok');
      assert.equal(calls, 3);
    });

  it('that are refused at once say that they were not sent', async () => {
    await using server = await H2Server.start((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    await using transport = new MultiplexedTransport(server.connection);
    await assert.rejects(transport.send(POST), { name: 'UnreachableError', reason: 'broken', sent: false });
  });

  it('do not take the half of an answer for the whole', async () => {
    for (const end of [
      (stream: ServerHttp2Stream) => stream.destroy(new Error('broken')),
      (stream: ServerHttp2Stream) => stream.session?.destroy(),
      () => server.sockets.at(-1)?.end(),
      () => server.sockets.at(-1)?.destroy(),
    ]) {
      await using transport = new MultiplexedTransport(server.connection);
      onStream = (stream) => {
        stream.respond({ ':status': 200 });
        stream.write('half', () => end(stream));
      };
      const answer = await transport.send(GET);
      await assert.rejects(bodyText(answer), { name: 'UnreachableError', reason: 'broken' }, String(end));
    }
  });

  it('end one by one with their signals', async () => {
    await using held = new AsyncDisposableStack();
    const { api, tls } = await openApi(held);
    const transport = held.use(new MultiplexedTransport(tls));
    const first = new AbortController();
    await assert.rejects(
      Promise.all([transport.send({ ...GET, signal: first.signal }), first.abort(new Error('soon'))]),
      { message: 'soon' },
    );
    const watches = await Promise.all([watchOn(transport, first.signal).catch(() => undefined), watchOn(transport)]);
    assert.equal(watches[0], undefined);
    assert.equal(await bodyText(await transport.send(GET)), '{"gitVersion":"v1.32.5+fake"}');
    assert.equal(api.multiplexed, 1);
  });

  it('let go of a stream that is not read to its end', async () => {
    let closed = 0;
    onStream = (stream) => {
      stream.once('close', () => closed++);
      stream.respond({ ':status': 200 });
      stream.write('one');
    };
    await using transport = new MultiplexedTransport(server.connection);
    for await (const piece of (await transport.send(GET)).body) {
      assert.equal(String(piece), 'one');
      break;
    }
    await until('the server knows', () => closed === 1);
  });

  it('are not waited for without end: one is left alone, and all where nobody is there', async () => {
    onStream = (stream, headers) => {
      if (headers[':path'] === '/mute') return;
      stream.respond({ ':status': 200 });
      stream.write('one');
      if (headers[':path'] !== '/watch') stream.end();
    };
    await using transport = new MultiplexedTransport(server.connection, { answerTimeoutMs: 1_000 });
    const watch = (await transport.send({ method: 'GET', path: '/watch' })).body[Symbol.asyncIterator]();
    assert.equal(String((await watch.next()).value), 'one');
    const mute = transport.send({ ...POST, path: '/mute' });
    await bodyText(await transport.send(GET));
    await assert.rejects(mute, { reason: 'timeout', sent: true });
    const opened = server.sockets.length;
    await assert.rejects(transport.send({ ...POST, path: '/mute' }), { reason: 'timeout', sent: true });
    await assert.rejects(watch.next(), { name: 'UnreachableError', reason: 'timeout' });
    assert.equal(await bodyText(await transport.send(GET)), 'one');
    assert.equal(server.sockets.length, opened + 1);
  });

  it('are broken off together, and go on over a new connection', async () => {
    await using held = new AsyncDisposableStack();
    const { api, tls } = await openApi(held);
    const transport = held.use(new MultiplexedTransport(tls));
    const events = (await watchOn(transport))[Symbol.asyncIterator]();
    const next = assert.rejects(async () => events.next(), { name: 'UnreachableError', reason: 'broken' });
    transport.breakOff();
    await next;
    assert.equal((await transport.send(GET)).status, 200);
    await until('the first connection is gone', () => api.multiplexed === 1);
  });

  let server: H2Server;
  let onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
  before(async () => {
    server = await H2Server.start((stream, headers) => onStream(stream, headers));
  });
  after(() => server[Symbol.asyncDispose]());
});

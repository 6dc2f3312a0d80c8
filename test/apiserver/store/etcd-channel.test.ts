import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { EtcdCallError } from '../../../apiserver/store/etcd/call-error.ts';
import { UnaryChannel } from '../../../apiserver/store/etcd/unary-channel.ts';
import { systemClock as clock } from '../../../resources/ambient/system-clock.ts';

const FRAME = Buffer.from([0, 0, 0, 0, 1, 42]);
const OK = { ':status': 200, 'content-type': 'application/grpc' };
const aCall = () => ({ path: '/a/B', frame: FRAME, metadata: {}, deadlineMs: clock.monotonic() + 60_000 });

/** A channel to a member that answers each call in this way. */
async function talking(answer: (stream: ServerHttp2Stream, path: string) => void) {
  const stack = new AsyncDisposableStack();
  const server = createServer();
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    stream.resume();
    answer(stream, String(headers[':path']));
  });
  server.on('session', (session) => stack.defer(() => session.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const channel = new UnaryChannel({ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, clock });
  stack.defer(() => void server.close());
  stack.defer(() => channel.close());
  return { channel, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const failure = (wanted: EtcdCallError['failure']) => (error: unknown) =>
  error instanceof EtcdCallError && error.failure === wanted;

describe('a channel to etcd', () => {
  it('answers the message of the other side, and again on the same connection', async () => {
    await using talk = await talking((stream, path) => {
      assert.equal(path, '/a/B');
      stream.respond(OK, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.write(FRAME.subarray(0, 3));
      stream.end(FRAME.subarray(3));
    });
    for (let i = 0; i < 3; i++) assert.deepEqual([...(await talk.channel.call(aCall()))], [42]);
  });

  it('tells what the other side says, in the head of an answer too', async () => {
    await using talk = await talking((stream) =>
      stream.respond(
        { ...OK, 'grpc-status': '8', 'grpc-message': 'etcdserver: mvcc: database space%20exceeded' },
        { endStream: true },
      ),
    );
    await assert.rejects(talk.channel.call(aCall()), failure('NoSpace'));
  });

  it('does not know what became of a call that ended without a status', async () => {
    await using talk = await talking((stream) => stream.respond(OK, { endStream: true }));
    await assert.rejects(talk.channel.call(aCall()), failure('Unclear'));
  });

  it('does not know what became of a call whose answer is cut short', async () => {
    await using talk = await talking((stream) => {
      stream.respond(OK, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(FRAME.subarray(0, 5));
    });
    await assert.rejects(talk.channel.call(aCall()), failure('Unclear'));
  });

  it('knows of a call that was refused that it was not begun', async () => {
    await using talk = await talking((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    await assert.rejects(talk.channel.call(aCall()), failure('NotSent'));
  });

  it('ends a call at its deadline', async () => {
    const ended = Promise.withResolvers<number | undefined>();
    await using talk = await talking((stream) => void stream.on('close', () => ended.resolve(stream.rstCode)));
    await assert.rejects(talk.channel.call({ ...aCall(), deadlineMs: clock.monotonic() }), /no answer in time/);
    assert.equal(await ended.promise, constants.NGHTTP2_CANCEL);
  });

  it('ends a call that nobody wants any longer', async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<number | undefined>();
    await using talk = await talking((stream) => {
      begun.resolve();
      stream.on('close', () => ended.resolve(stream.rstCode));
    });
    const leaving = new AbortController();
    const call = talk.channel.call({ ...aCall(), signal: leaving.signal });
    await begun.promise;
    leaving.abort();
    await assert.rejects(call, failure('Unclear'));
    assert.equal(await ended.promise, constants.NGHTTP2_CANCEL);
    await assert.rejects(talk.channel.call({ ...aCall(), signal: leaving.signal }), failure('Unclear'));
  });

  it('takes no answer that says that it is very long', async () => {
    await using talk = await talking((stream) => {
      stream.respond(OK);
      stream.write(Buffer.from([0, 0x40, 0, 0, 0, 1]));
    });
    await assert.rejects(talk.channel.call(aCall()), failure('AnswerTooBig'));
  });

  it('reads an answer of more than a window', async () => {
    const length = 20 << 20;
    await using talk = await talking((stream) => {
      stream.respond(OK, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      const frame = Buffer.alloc(5 + length, 7);
      frame[0] = 0;
      frame.writeUInt32BE(length, 1);
      stream.end(frame);
    });
    const answer = await talk.channel.call(aCall());
    assert.equal(answer.length, length);
    assert.ok(answer.equals(Buffer.alloc(length, 7)));
  });

  it('ends what is under way when it is closed, and begins nothing more', async () => {
    const begun = Promise.withResolvers<void>();
    await using talk = await talking(() => begun.resolve());
    const call = talk.channel.call(aCall());
    await begun.promise;
    talk.channel.close();
    await assert.rejects(call, failure('Unclear'));
    await assert.rejects(talk.channel.call(aCall()), failure('NotSent'));
  });

  it('sends nothing to who takes the connection and is no member', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => {}).destroy());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await using stack = new AsyncDisposableStack();
    stack.defer(() => void server.close());
    const channel = new UnaryChannel({ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, clock });
    const calls = [channel.call(aCall()), channel.call(aCall())];
    for (const call of calls) await assert.rejects(call, failure('NotSent'));
  });

  it('connects again once its connection is gone', async () => {
    let calls = 0;
    await using talk = await talking((stream) => {
      calls += 1;
      if (calls === 1) return void stream.session?.destroy();
      stream.respond(OK, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(FRAME);
    });
    await assert.rejects(talk.channel.call(aCall()), failure('Unclear'));
    assert.deepEqual([...(await talk.channel.call(aCall()))], [42]);
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { EtcdCallError } from '../../../apiserver/store/etcd/call-error.ts';
import { watchStream } from '../../../apiserver/store/etcd/watch-stream.ts';
import { systemClock as clock } from '../../../resources/ambient/system-clock.ts';

const OK = { ':status': 200, 'content-type': 'application/grpc' };

function framed(reason: string): Buffer {
  const message = new BinaryWriter().tag(6, WireType.LengthDelimited).string(reason).finish();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** A watch of a member that answers in this way. Answers what it told, and how it ended. */
async function watching(answer: (stream: ServerHttp2Stream) => void, stopAfter = Number.POSITIVE_INFINITY) {
  const server = createServer();
  const ended = Promise.withResolvers<void>();
  server.on('stream', (stream, headers) => {
    assert.equal(headers.hasleader, 'true');
    assert.equal(headers.token, 'secret');
    stream.on('error', () => {});
    stream.once('data', () => answer(stream)).once('close', () => ended.resolve());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = new AbortController();
  const told: string[] = [];
  let failed: unknown;
  try {
    const call = { frame: framed('watch'), metadata: { token: 'secret' } };
    for await (const { cancelReason } of watchStream({ address, clock }, call, stop.signal)) {
      told.push(cancelReason);
      if (told.length === stopAfter) stop.abort();
    }
  } catch (error) {
    failed = error;
  }
  await ended.promise;
  server.close();
  return { told, failed };
}

describe('a watch stream of etcd', () => {
  it('tells each message, however they are cut', async () => {
    const texts = ['a', 'b'.repeat(100_000), '', 'c'];
    const { told, failed } = await watching((stream) => {
      stream.respond(OK);
      const bytes = Buffer.concat(texts.map(framed));
      const cuts = [0, 3, 8, 9, 70_000, bytes.length - 1, bytes.length];
      for (const [i, cut] of cuts.entries()) if (i > 0) stream.write(bytes.subarray(cuts[i - 1], cut));
    }, texts.length);
    assert.deepEqual(told, texts);
    assert.equal(failed, undefined);
  });

  it('ends with what the member says of it', async () => {
    const { told, failed } = await watching((stream) => {
      stream.respond(OK, { waitForTrailers: true });
      stream.on('wantTrailers', () =>
        stream.sendTrailers({ 'grpc-status': '14', 'grpc-message': 'etcdserver: no%20leader' }),
      );
      stream.end(framed('one'));
    });
    assert.deepEqual(told, ['one']);
    assert.match(String(failed), /14 etcdserver: no leader/);
  });

  it('does not know why when the connection breaks', async () => {
    const { failed } = await watching((stream) => {
      stream.respond(OK);
      stream.write(framed('one').subarray(0, 4), () => stream.session?.destroy());
    });
    assert.ok(failed instanceof EtcdCallError && failed.failure === 'Unclear');
  });

  it('ends when the member ends it without a word', async () => {
    const { failed } = await watching((stream) => stream.respond(OK, { endStream: true }));
    assert.match(String(failed), /ended the watch/);
  });
});

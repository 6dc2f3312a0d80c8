import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:https';
import type { WebSocket } from 'ws';
import { serverIdentity } from '../../../apiserver/auth/identity.ts';
import { RELAY_PROTOCOL, STREAM_CLOSE } from '../../../resources/streams/control-messages.ts';
import { CutProxy } from '../../harness/cut-proxy.ts';
import { removeVM, VMS_URL } from '../../harness/quota-world.ts';
import { send } from '../../harness/raw.ts';
import { OPERATOR_TOKEN } from '../../harness/server.ts';
import { until } from '../../harness/until.ts';
import { EXEC, HOSTS } from '../streams/host-with-web.ts';
import { closeOf, messageOf, refusalOf } from '../streams/stream-world.ts';
import { type PairedServer, StreamPair } from './stream-pair.ts';

const MIB = 1 << 20;
const addressed = (url: string) => ({ metadata: { annotations: { 'coppice.dev/address': url } } });

describe('a stream through a server that does not hold the host', () => {
  let pair: StreamPair;
  beforeEach(async () => {
    pair = await StreamPair.start();
  });
  afterEach(() => pair[Symbol.asyncDispose]());

  const opened = async (socket: WebSocket) => {
    if (socket.readyState !== socket.OPEN) await once(socket, 'open');
    return socket;
  };

  const inVain = () =>
    until('it was looked for in vain', () => pair.said.some((line) => line.includes('not where its lease says')));

  it('goes by the one that does, in both directions, from the first byte to the code of the close', async () => {
    const nodelet = await pair.connect(pair.a);
    const client = pair.client(pair.b, `${EXEC}&command=%E2%82%AC&stdin=true`);
    const first = messageOf(client);
    const socket = await nodelet.answer();
    socket.send('out');
    assert.equal(await first, 'out');
    const heard = messageOf(socket);
    client.send('in');
    assert.equal(await heard, 'in');
    const closed = closeOf(client);
    socket.close(STREAM_CLOSE.broken, 'the guest went away');
    assert.deepEqual(await closed, { code: 4410, reason: 'the guest went away' });
  });

  it('asks for what the client asked', async () => {
    const nodelet = await pair.connect(pair.a);
    pair.client(pair.b, `${VMS_URL}/web/exec?command=sh&command=-c&command=%26%E2%82%AC+%22&stdin=true&tty=true`);
    const { stream } = await nodelet.dial();
    const command = ['sh', '-c', '&€ "'];
    assert.deepEqual({ ...stream, guestID: '' }, { kind: 'exec', guestID: '', command, stdin: true, tty: true });
  });

  it('holds the guest’s output back while the client takes none, and loses nothing of it', async () => {
    const nodelet = await pair.connect(pair.a);
    const client = pair.client(pair.b);
    const socket = await nodelet.answer();
    await opened(client);
    client.pause();
    const sent = await pushUntilHeldBack(socket);
    await receivesAll(client, sent);
  });

  it('holds the client’s input back while the guest takes none, and loses nothing of it', async () => {
    const nodelet = await pair.connect(pair.a);
    const client = pair.client(pair.b);
    const socket = await nodelet.answer();
    await opened(client);
    socket.pause();
    const sent = await pushUntilHeldBack(client);
    await receivesAll(socket, sent);
  });

  it('closes at the nodelet when the client leaves', async () => {
    const nodelet = await pair.connect(pair.a);
    const client = pair.client(pair.b);
    const socket = await nodelet.answer();
    await opened(client);
    const closed = closeOf(socket);
    client.terminate();
    assert.equal((await closed).code, 1011);
  });

  it('breaks for the client when the holder dies, and the next goes to where the host is then', async () => {
    const nodelet = await pair.connect(pair.a);
    const client = pair.client(pair.b);
    await nodelet.answer();
    await opened(client);
    const closed = closeOf(client);
    await pair.kill(pair.a);
    assert.deepEqual(await closed, { code: 1011, reason: 'the stream broke' });
    const again = await pair.connect(pair.b);
    const next = pair.client(pair.b);
    const first = messageOf(next);
    (await again.answer()).send('here');
    assert.equal(await first, 'here');
  });

  it('breaks at the nodelet when the client’s server dies', async () => {
    const nodelet = await pair.connect(pair.a);
    const client = pair.client(pair.b);
    const socket = await nodelet.answer();
    await opened(client);
    const closed = closeOf(socket);
    await pair.kill(pair.b);
    assert.equal((await closed).code, 1011);
  });

  it('waits for a host that is on its way to another server', async () => {
    await pair.connect(pair.a);
    await pair.kill(pair.a);
    const client = pair.client(pair.b);
    const first = messageOf(client);
    await inVain();
    const nodelet = await pair.connect(pair.b);
    (await nodelet.answer()).send('moved');
    assert.equal(await first, 'moved');
  });

  it('finds a host again that came back to its server while it was asked for', async () => {
    const nodelet = await pair.connect(pair.a);
    const client = pair.client(pair.b);
    const first = messageOf(client);
    await nodelet.dial();
    nodelet.socket.terminate();
    await inVain();
    const again = await pair.connect(pair.a);
    (await again.answer()).send('again');
    assert.equal(await first, 'again');
  });

  it('is 503 with a time to try again when the host is nowhere, and asks nobody twice', async () => {
    await pair.connect(pair.a);
    await pair.kill(pair.a);
    const { status, headers, body } = await refusalOf(pair.client(pair.b));
    assert.deepEqual([status, headers['retry-after'], body.reason], [503, '1', 'ServiceUnavailable']);
    assert.equal(body.details?.causes, undefined);
    assert.match(String(body.message), /^host mac-1 is connected to API server a, which cannot be reached: /);
  });

  it('is not asked for a second time where it may have begun', async () => {
    await using proxy = await CutProxy.start(pair.a.listening.listener.port);
    await pair.writeLease('apiserver-a', addressed(`https://127.0.0.1:${proxy.port}`));
    const nodelet = await pair.connect(pair.a);
    const refused = refusalOf(pair.client(pair.b));
    await nodelet.dial();
    proxy.cut();
    assert.equal((await refused).status, 503);
    assert.equal(nodelet.waiting, 0);
  });

  it('hops once: a server never passes on what another server asks for', async () => {
    await pair.connect(pair.a);
    // Each takes the other for the holder.
    await pair.writeLease('host-mac-1', { spec: { holderIdentity: 'b' } });
    const { status, body } = await refusalOf(relay(pair, pair.b, await peerOf(pair, 'a')));
    assert.deepEqual([status, body.details?.causes?.[0]?.reason], [503, 'HostNotConnected']);
  });

  it('follows the logs too, and breaks them when the holder dies', async () => {
    const nodelet = await pair.connect(pair.a);
    const answer = logs(pair.b, '?follow=true&tailLines=5');
    const { ticket, stream } = await nodelet.dial();
    assert.deepEqual({ ...stream, guestID: '' }, { kind: 'logs', guestID: '', follow: true, tailLines: 5 });
    const socket = pair.socket(
      pair.a,
      `${HOSTS}/mac-1/dialback?ticket=${ticket}`,
      'dialback.coppice.dev',
      pair.hostPair,
    );
    await once(socket, 'open');
    socket.send('one\n');
    const text = await answer.begun;
    assert.equal(text, 'one\n');
    await pair.kill(pair.a);
    await assert.rejects(answer.ended, /aborted|ECONNRESET|socket hang up/);
  });

  it('has the status of the nodelet’s reason when logs cannot be had', async () => {
    const nodelet = await pair.connect(pair.a);
    const refused = send(pair.b.test.server.app, 'GET', `${VMS_URL}/web/logs`);
    (await nodelet.answer()).close(STREAM_CLOSE.noSuchGuest, 'no such guest');
    assert.equal((await refused).status, 404);
  });

  it('is for servers to ask for, and servers ask for nothing else', async () => {
    await pair.connect(pair.a);
    const operator = { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } };
    for (const who of [operator, pair.hostPair, {}]) {
      const { status } = await refusalOf(relay(pair, pair.a, who));
      assert.equal(status, 'headers' in who || 'cert' in who ? 403 : 401);
    }
    const identity = serverIdentity('b');
    for (const [method, path] of [
      ['GET', `${HOSTS}/mac-1`],
      ['GET', '/api/v1/namespaces/red/secrets'],
      ['POST', `${VMS_URL}/web/exec`],
      ['PATCH', '/apis/coordination.k8s.io/v1/namespaces/coppice-system/leases/host-mac-1'],
    ] as const)
      assert.equal((await send(pair.a.test.server.app, method, path, { identity })).status, 403, path);
  });

  it('is refused without words that tell what a stream is, or a host', async () => {
    await pair.connect(pair.a);
    const peer = await peerOf(pair, 'b');
    for (const query of ['', '?stream=', '?stream=bm8', `?stream=${encoded({ kind: 'exec', guestID: 'g' })}`]) {
      const socket = pair.socket(pair.a, `${HOSTS}/mac-1/relay${query}`, RELAY_PROTOCOL, peer);
      assert.equal((await refusalOf(socket)).status, 400, query);
    }
  });

  it('does not go to an address where somebody else answers', async () => {
    await pair.connect(pair.a);
    await pair.writeLease('apiserver-a', addressed('https://127.0.0.1:1'));
    const { status, body } = await refusalOf(pair.client(pair.b));
    assert.equal(status, 503);
    assert.match(String(body.message), /cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1/);
  });

  it('ends when the Host is deleted: its holder drops it', async () => {
    const nodelet = await pair.connect(pair.a);
    const closed = closeOf(nodelet.socket);
    await removeVM(pair.b.test.server.app, 'web');
    assert.equal((await send(pair.b.test.server.app, 'DELETE', `${HOSTS}/mac-1`)).status, 200);
    assert.deepEqual(await closed, { code: 4403, reason: 'its Host was deleted' });
  });
});

const encoded = (stream: object) => Buffer.from(JSON.stringify(stream)).toString('base64url');

const peerOf = (pair: StreamPair, name: string) => {
  const { user, groups } = serverIdentity(name);
  return pair.pki.issueClient({ commonName: user, organizations: groups.slice(0, 1) });
};

function relay(pair: StreamPair, server: PairedServer, credential: object): WebSocket {
  const stream = encoded({ kind: 'logs', guestID: 'g', follow: false });
  return pair.socket(server, `${HOSTS}/mac-1/relay?stream=${stream}`, RELAY_PROTOCOL, credential);
}

/** GET of the logs: `begun` with the first piece, `ended` with all of it. */
function logs(server: PairedServer, query: string) {
  const begun = Promise.withResolvers<string>();
  const ended = new Promise<string>((resolve, reject) => {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    const url = `${server.listening.url}${VMS_URL}/web/logs${query}`;
    get(url, { ca: server.listening.caCert, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        begun.resolve(text);
      });
      response.on('end', () => resolve(text));
      response.on('error', reject);
    }).on('error', reject);
  });
  ended.catch(() => {});
  return { begun: begun.promise, ended };
}

/** Sends until a mebibyte of it does not leave any more; answers how many bytes that were. */
async function pushUntilHeldBack(socket: WebSocket): Promise<number> {
  const piece = Buffer.alloc(64 << 10);
  let sent = 0;
  await until('it is held back', async () => {
    if (socket.bufferedAmount > MIB) {
      const before = socket.bufferedAmount;
      await new Promise((resolve) => setTimeout(resolve, 200));
      if (socket.bufferedAmount === before) return true;
    }
    if (socket.bufferedAmount <= MIB) {
      socket.send(piece);
      sent += piece.length;
    }
    assert.ok(sent < 256 * MIB, 'nobody holds it back');
    return false;
  });
  return sent;
}

async function receivesAll(socket: WebSocket, bytes: number): Promise<void> {
  let received = 0;
  socket.on('message', (data: Buffer) => {
    received += data.length;
  });
  socket.resume();
  await until('all of it came', () => received === bytes);
}

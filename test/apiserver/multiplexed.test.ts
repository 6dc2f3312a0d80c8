import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { hostIdentity } from '../../apiserver/auth/identity.ts';
import { H2_PROTOCOL } from '../../apiserver/client/h2-protocol.ts';
import type { ListenLimits } from '../../apiserver/listen.ts';
import { openPki } from '../../apiserver/pki/pki-files.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { CutProxy } from '../harness/cut-proxy.ts';
import { send } from '../harness/raw.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../harness/server.ts';
import { tlsRequest } from '../harness/tls-request.ts';
import { until } from '../harness/until.ts';

const NAMESPACES = '/api/v1/namespaces';
const CONFIG_MAPS = `${NAMESPACES}/default/configmaps`;
const SHORT: Partial<ListenLimits> = {
  headMs: 300,
  requestMs: 600,
  checkMs: 50,
  idleMs: 500,
  stalledMs: 600,
  bodyBytes: 1 << 20,
  streams: 20,
};

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly code: number;
  readonly headers: Readonly<Record<string, unknown>>;
}

describe('a listener that clients of ours speak HTTP/2 to', () => {
  let folder: string;
  let test: TestServer;
  let listening: ListeningServer;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-h2-'));
    test = await startTestServer();
    listening = await listenTestServer(test, join(folder, 'pki'), SHORT);
  });
  after(async () => {
    await listening[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  const watches = () => test.server.parts.cache.resource('core/configmaps').listeners;

  it('takes many requests of a connection at once, bodies and refusals among them', async () => {
    await using line = await Line.open(listening);
    const body = (name: string) => JSON.stringify({ metadata: { name } });
    const answers = await Promise.all([
      line.ask('GET', '/version'),
      line.ask('POST', NAMESPACES, body('one')),
      line.ask('POST', NAMESPACES, body('two')),
      line.ask('GET', `${NAMESPACES}/none`),
      line.ask('GET', NAMESPACES, undefined, { authorization: 'Bearer nonsense' }),
      line.ask('POST', NAMESPACES, '{'),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 201, 201, 404, 401, 400],
    );
    assert.equal(JSON.parse(answers[1]?.text ?? '').metadata.name, 'one');
    assert.equal(answers[0]?.headers['content-length'], String(Buffer.byteLength(answers[0]?.text ?? '')));
  });

  it('answers HEAD without a body, large answers whole, and what is not ASCII as it is', async () => {
    await using line = await Line.open(listening);
    const head = await line.ask('HEAD', NAMESPACES);
    assert.deepEqual([head.status, head.text], [200, '']);
    const large = JSON.stringify({ metadata: { name: 'large' }, data: { a: 'ü'.repeat(400_000) } });
    assert.equal((await line.ask('POST', CONFIG_MAPS, large)).status, 201);
    assert.equal(JSON.parse((await line.ask('GET', `${CONFIG_MAPS}/large`)).text).data.a, 'ü'.repeat(400_000));
    const odd = await line.ask('POST', NAMESPACES, JSON.stringify({ metadata: { name: 'odd' }, ключ: 1 }));
    assert.match(Buffer.from(String(odd.headers.warning), 'latin1').toString('utf8'), /unknown field \\"ключ\\"/);
    await line.ask('DELETE', `${CONFIG_MAPS}/large`);
  });

  it('reads headers line by line that mean something so', async () => {
    await using line = await Line.open(listening);
    const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
    const as = { 'impersonate-user': 'ann', 'impersonate-group': ['a,b', 'c'] };
    const { text } = await line.ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review, as);
    const { username, groups } = JSON.parse(text).status.userInfo;
    assert.equal(username, 'ann');
    assert.deepEqual(groups.slice(0, 2), ['a,b', 'c']);
  });

  it('knows hosts by the certificates of their connections', async () => {
    const pki = await openPki(join(folder, 'pki'), ['127.0.0.1', 'localhost'], systemClock, systemIds);
    const host = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' } };
    const made = (await send(test.server.app, 'POST', '/apis/coppice.dev/v1/hosts', { body: host })).body;
    const uid = String(made.metadata?.uid);
    const { user, groups } = hostIdentity('mac-1', uid);
    const pair = await pki.issueClient({ commonName: user, organizations: groups.slice(0, 1), serial: uid });
    await using line = await Line.open(listening, pair);
    const none = { authorization: undefined };
    const own = () => line.ask('GET', '/apis/coppice.dev/v1/hosts/mac-1', undefined, none);
    assert.deepEqual([(await own()).status, (await own()).status], [200, 200]);
    assert.equal((await line.ask('GET', '/api/v1/secrets', undefined, none)).status, 403);
  });

  it('lets nobody else choose it', async () => {
    const socket = connect({
      host: '127.0.0.1',
      port: listening.listener.port,
      ca: listening.caCert,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    await once(socket, 'secureConnect');
    assert.equal(socket.alpnProtocol, 'http/1.1');
    socket.destroy();
  });

  it('ends watches with their streams, or all with the connection', async () => {
    const before = watches();
    const line = await Line.open(listening);
    const streams = await Promise.all([1, 2, 3].map(() => line.watch()));
    assert.equal(watches(), before + 3);
    streams[0]?.close(constants.NGHTTP2_CANCEL);
    await until('one is over', () => watches() === before + 2);
    line.socket.destroy();
    await until('all are over', () => watches() === before);
  });

  it('ends a watch that is not read alone: others on its connection are told all', async function () {
    this.timeout(60_000);
    const before = watches();
    await using line = await Line.open(listening);
    const mute = await line.watch();
    mute.pause();
    const reader = await line.watch();
    let told = 0;
    reader.setEncoding('utf8').on('data', (text: string) => {
      told += text.split('\n').length - 1;
    });
    const data = { a: 'x'.repeat(300_000) };
    let made = 0;
    for (; made < 80 && watches() > before + 1; made++)
      await send(test.server.app, 'POST', CONFIG_MAPS, { body: { metadata: { name: `slow-${made}` }, data } });
    await until('the mute one is over', () => watches() === before + 1);
    await until('the other was told of all', () => told === made);
    assert.equal((await line.ask('GET', '/version')).status, 200);
    for (let i = 0; i < made; i++) await send(test.server.app, 'DELETE', `${CONFIG_MAPS}/slow-${i}`);
  });

  it('ends a connection that is not read, and what is quiet on it', async function () {
    this.timeout(60_000);
    const watches = () => test.server.parts.cache.resource('core/namespaces').listeners;
    const before = watches();
    const body = { metadata: { name: 'big' }, data: { a: 'x'.repeat(900_000) } };
    await send(test.server.app, 'POST', CONFIG_MAPS, { body });
    await using proxy = await CutProxy.start(listening.listener.port);
    await using line = await Line.open({ ...listening, listener: { ...listening.listener, port: proxy.port } });
    await once(
      line.open('GET', `${NAMESPACES}?watch=1&resourceVersion=${test.store.revision()}`).on('error', () => {}),
      'response',
    );
    proxy.holdAnswers();
    for (let i = 0; i < 15; i++) void line.ask('GET', `${CONFIG_MAPS}/big`).catch(() => {});
    await until('its watches are over', () => watches() === before, 30_000);
    await until('it is closed', async () => {
      // What is sent to nobody is answered with a reset; but a client may send ten of these only.
      if (!line.session.destroyed) line.session.ping(() => {});
      await delay(200);
      return line.socket.destroyed;
    });
    await send(test.server.app, 'DELETE', `${CONFIG_MAPS}/big`);
  });

  it('answers 408 to a body that does not come, and goes on with the rest', async () => {
    await using line = await Line.open(listening);
    const stream = line.open('POST', NAMESPACES, { 'content-length': '99' });
    stream.write('{');
    const { status } = await read(stream);
    assert.equal(status, 408);
    assert.equal((await line.ask('GET', '/version')).status, 200);
  });

  it('takes no half of a body for the whole, however it ends', async () => {
    for (const end of [
      (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL),
      (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_NO_ERROR),
      (_: ClientHttp2Stream, line: Line) => line.socket.destroy(),
      (_: ClientHttp2Stream, line: Line) => line.socket.end(),
    ]) {
      await using line = await Line.open(listening);
      const text = '{"metadata":{"name":"half"}}';
      const stream = line.open('POST', NAMESPACES, { 'content-length': String(text.length + 1) });
      stream.on('error', () => {});
      stream.write(text);
      await line.ask('GET', '/version');
      end(stream, line);
      await using other = await Line.open(listening);
      await other.ask('GET', '/version');
      assert.equal((await other.ask('GET', `${NAMESPACES}/half`)).status, 404, String(end));
    }
  });

  it('is done with requests whose bodies nobody asks for', async () => {
    await using line = await Line.open(listening);
    const refused = () => line.ask('POST', CONFIG_MAPS, 'x'.repeat(200_000), { authorization: 'Bearer nonsense' });
    for (let i = 0; i < 25; i++) assert.equal((await refused()).status, 401);
  });

  it('says 413 and 429 to bodies for which there is no room', async () => {
    await using line = await Line.open(listening);
    const huge = await line.ask('POST', CONFIG_MAPS, 'x'.repeat(4 << 20), {
      'content-length': String(4 << 20),
    });
    assert.equal(huge.status, 413);
    const piece = Buffer.alloc(700_000, 0x20);
    const first = line.open('POST', CONFIG_MAPS, { 'content-length': String(piece.length + 1) });
    first.on('error', () => {});
    await new Promise((resolve) => first.write(piece, resolve));
    assert.equal((await line.ask('POST', CONFIG_MAPS, piece)).status, 429);
    first.close(constants.NGHTTP2_CANCEL);
    await until('a body is taken again', async () => (await line.ask('POST', CONFIG_MAPS, piece)).status === 400);
  });

  it('closes connections on which nothing is asked, also for those who only say hello, and keeps watches', async () => {
    const pinging = await Line.open(listening);
    const pings = setInterval(() => {
      if (!pinging.session.destroyed) pinging.session.ping(() => {});
    }, 50);
    await using watching = await Line.open(listening);
    const stream = await watching.watch();
    const mute = await openTls(listening);
    await Promise.all([once(pinging.socket, 'close'), once(mute.resume(), 'close')]);
    clearInterval(pings);
    assert.equal(stream.closed, false);
    stream.close();
    await once(watching.socket, 'close');
  });

  it('does no harm to others when a client speaks nonsense, opens streams without end or resets them', async function () {
    this.timeout(60_000);
    const before = watches();
    const nonsense = await openTls(listening);
    const hungUp = once(nonsense.resume(), 'close');
    nonsense.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await hungUp;
    const greedy = await Line.open(listening);
    const many = Array.from({ length: 10_000 }, () => greedy.open('GET', `${CONFIG_MAPS}?watch=1`));
    for (const stream of many) stream.on('error', () => {});
    await until('as many as may are answered', () => watches() === before + 20);
    const othersAreServed = async () => {
      await using other = await Line.open(listening);
      assert.equal((await other.ask('GET', '/version')).status, 200);
    };
    await othersAreServed();
    greedy.socket.destroy();
    await until('none is left', () => watches() === before);
    const hasty = await Line.open(listening);
    const ended = once(hasty.socket, 'close');
    const reset = () => {
      for (let i = 0; i < 10 && !hasty.session.destroyed && !hasty.session.closed; i++) {
        const stream = hasty.open('GET', `${CONFIG_MAPS}?watch=1`);
        stream.on('error', () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
      if (!hasty.socket.destroyed) setImmediate(reset);
    };
    reset();
    await ended;
    await othersAreServed();
    await until('nobody watches', () => watches() === before);
  });

  it('ends them when it is disposed; what is under way is answered within the grace', async () => {
    await using second = await listenTestServer(test, join(folder, 'second'), {}, 20_000);
    const line = await Line.open(second);
    const stream = line.open('POST', NAMESPACES);
    await once(line.session, 'remoteSettings');
    stream.write('{"metadata":');
    await until('the server has it', async () => {
      await line.ask('GET', '/version');
      return true;
    });
    const idle = await Line.open(second);
    await idle.ask('GET', '/version');
    const gone = once(idle.socket, 'close');
    const disposed = second[Symbol.asyncDispose]();
    await gone;
    assert.equal(stream.closed, false);
    stream.end('{"name":"late"}}');
    assert.equal((await read(stream)).status, 201);
    await disposed;
    await assert.rejects(tlsRequest(`${second.url}/version`, { ca: second.caCert, agent: false }), /ECONNREFUSED/);
  });

  it('cuts off watches when it is disposed', async () => {
    const second = await listenTestServer(test, join(folder, 'third'));
    const before = watches();
    const line = await Line.open(second);
    const stream = await line.watch();
    const closed = once(stream, 'close');
    await second[Symbol.asyncDispose]();
    await closed;
    await until('nobody watches', () => watches() === before);
  });
});

interface Shown {
  readonly cert?: string;
  readonly key?: string;
}

async function openTls({ listener, caCert }: ListeningServer, shown: Shown = {}): Promise<TLSSocket> {
  const { port } = listener;
  const socket = connect({ host: '127.0.0.1', port, ca: caCert, ...shown, ALPNProtocols: [H2_PROTOCOL] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  assert.equal(socket.alpnProtocol, H2_PROTOCOL);
  return socket;
}

/** One connection of a client that is up to a test. */
class Line implements AsyncDisposable {
  readonly socket: TLSSocket;
  readonly session: ClientHttp2Session;

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    const settings = { initialWindowSize: 256 << 10 };
    this.session = connectHttp2('https://127.0.0.1', { createConnection: () => socket, settings });
    this.session.on('error', () => {});
  }

  static async open(listening: ListeningServer, shown: Shown = {}): Promise<Line> {
    return new Line(await openTls(listening, shown));
  }

  open(method: string, path: string, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
    const endStream = method === 'GET' || method === 'HEAD' || method === 'DELETE';
    const authorization = `Bearer ${OPERATOR_TOKEN}`;
    const head = { ':method': method, ':path': path, authorization, 'content-type': 'application/json', ...headers };
    return this.session.request(head, { endStream });
  }

  async ask(method: string, path: string, body?: string | Uint8Array, headers?: OutgoingHttpHeaders): Promise<Answer> {
    const stream = this.open(method, path, headers);
    if (body !== undefined) stream.end(body);
    return await read(stream);
  }

  /** A watch of ConfigMaps from now on. */
  async watch(): Promise<ClientHttp2Stream> {
    const stream = this.open('GET', `${CONFIG_MAPS}?watch=1&resourceVersion=0`);
    stream.on('error', () => {});
    await once(stream, 'response');
    return stream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.session.destroy();
    this.socket.destroy();
  }
}

async function read(stream: ClientHttp2Stream): Promise<Answer> {
  let headers: Answer['headers'] = {};
  let text = '';
  stream.once('response', (head) => {
    headers = head;
  });
  stream.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  stream.on('error', () => {});
  await once(stream, 'close');
  return { status: Number(headers[':status']), text, code: stream.rstCode, headers };
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { ListenLimits } from '../../apiserver/listen.ts';
import { send } from '../harness/raw.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../harness/server.ts';
import { until } from '../harness/until.ts';
import { TlsLine } from './tls-line.ts';

const HEAD = `HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${OPERATOR_TOKEN}\r\n`;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const SHORT: Partial<ListenLimits> = {
  headMs: 300,
  requestMs: 600,
  checkMs: 50,
  idleMs: 500,
  stalledMs: 300,
  bodyBytes: 1 << 20,
};

/** What one client, or a thousand, can hold of a server is bounded, and what they do not use is taken from them. */
describe('a server that clients try to exhaust', () => {
  let folder: string;
  let test: TestServer;
  let listening: ListeningServer;
  let context: SecureContext;
  const session = {};
  const open = () => TlsLine.open(listening.listener.port, context, session);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-exhaustion-'));
    test = await startTestServer();
    listening = await listenTestServer(test, join(folder, 'pki'), SHORT);
    context = createSecureContext({ ca: listening.caCert });
  });
  after(async () => {
    await listening[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  const watches = () => test.server.parts.cache.resource('core/configmaps').listeners;

  it('answers 408 to heads and bodies that dribble', async () => {
    for (const begun of ['GET /version HTTP/1.1\r\nhost', `POST ${CONFIG_MAPS} ${HEAD}content-length: 99\r\n\r\n{`]) {
      using line = await open();
      line.write(Buffer.from(begun));
      assert.equal((await line.answer('GET', false)).status, 408, begun);
      await line.closed();
    }
  });

  it('says 429 to a body there is no room for, and takes it once the others are over', async () => {
    const body = Buffer.alloc(900_000, 0x20);
    const post = Buffer.from(`POST ${CONFIG_MAPS} ${HEAD}content-length: ${body.length}\r\n\r\n`);
    using first = await open();
    first.write(Buffer.concat([post, body.subarray(1)]));
    // The server has as much of it as it will get.
    await new Promise((resolve) => first.socket.write('', resolve));
    using second = await open();
    second.write(Buffer.concat([post, body]));
    assert.equal((await second.answer('POST', false)).status, 429);
    first[Symbol.dispose]();
    await until('a body is taken again', async () => {
      using third = await open();
      third.write(Buffer.concat([post, body]));
      return (await third.answer('POST', false)).status === 400;
    });
  });

  it('says 429 to requests sent on and on without waiting for the answers', async () => {
    using line = await open();
    const waits = `GET ${CONFIG_MAPS}?resourceVersion=999999 ${HEAD}\r\n`;
    line.write(Buffer.from(waits.repeat(70)));
    const statuses: number[] = [];
    for (let i = 0; i < 70; i++) statuses.push((await line.answer('GET', false)).status);
    assert.deepEqual([statuses.filter((s) => s === 504).length, statuses.filter((s) => s === 429).length], [64, 6]);
  });

  it('gives up every request of a connection that closes, also those that wait for their turn', async () => {
    const before = watches();
    const line = await open();
    line.write(Buffer.from(`GET ${CONFIG_MAPS}?watch=1 ${HEAD}\r\n`.repeat(5)));
    await until('five watches are open', () => watches() === before + 5);
    line[Symbol.dispose]();
    await until('none of them is', () => watches() === before);
  });

  it('ends watches whose readers do not read', async function () {
    this.timeout(60_000);
    const before = watches();
    const lines = await Promise.all(Array.from({ length: 5 }, open));
    for (const line of lines) {
      line.write(Buffer.from(`GET ${CONFIG_MAPS}?watch=1 ${HEAD}\r\n`));
      line.socket.pause();
    }
    await until('all of them watch', () => watches() === before + lines.length);
    const data = { a: 'x'.repeat(500_000) };
    for (let i = 0; i < 40 && watches() > before; i++)
      await send(test.server.app, 'POST', CONFIG_MAPS, { body: { metadata: { name: `big-${i}` }, data } });
    await until('none of them is open', () => watches() === before);
    // One that reads again in time gets all that was sent, and its connection is let go as an idle one.
    const closed = lines.map((line) => (line.socket.destroyed ? undefined : once(line.socket.resume(), 'close')));
    await Promise.all(closed);
  });

  it('ends connections whose readers take no answers, however small each is', async function () {
    this.timeout(60_000);
    const body = { metadata: { name: 'small' }, data: { a: 'x'.repeat(250_000) } };
    assert.equal((await send(test.server.app, 'POST', CONFIG_MAPS, { body })).status, 201);
    using line = await open();
    line.socket.pause();
    line.write(Buffer.from(`GET ${CONFIG_MAPS}/small ${HEAD}\r\n`.repeat(64)));
    await until('the connection is ended', () => {
      line.write(Buffer.from('\r\n'));
      return line.socket.destroyed;
    });
  });

  it('holds a thousand idle connections, serves others, and lets them go', async function () {
    this.timeout(60_000);
    const lines: TlsLine[] = [];
    for (let i = 0; i < 20; i++) lines.push(...(await Promise.all(Array.from({ length: 50 }, open))));
    using line = await open();
    line.write(Buffer.from(`GET /version ${HEAD}\r\n`));
    assert.equal((await line.answer('GET', false)).status, 200);
    await Promise.all(lines.map((idle) => idle.closed()));
  });

  it('lets the invitation to send a body not come in between other answers', async () => {
    using line = await open();
    const waits = `GET ${CONFIG_MAPS}?resourceVersion=999999 ${HEAD}\r\n`;
    line.write(Buffer.from(`${waits}POST ${CONFIG_MAPS} ${HEAD}expect: 100-continue\r\ncontent-length: 2\r\n\r\n{}`));
    assert.equal((await line.answer('GET', false)).status, 504);
    assert.equal((await line.answer('POST', false)).status, 422);
  });

  it('ends a refused handshake whose client goes on sending', async () => {
    using line = await open();
    line.write(
      Buffer.from(`GET /version ${HEAD}connection: upgrade\r\nupgrade: websocket\r\n\r\n${'x'.repeat(300_000)}`),
    );
    assert.equal((await line.answer('GET', false)).status, 404);
    await line.closed();
  });
});

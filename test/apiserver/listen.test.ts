import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { hostIdentity } from '../../apiserver/auth/identity.ts';
import { openPki, type Pki } from '../../apiserver/pki/pki-files.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { quiesce } from '../harness/eventually.ts';
import { send } from '../harness/raw.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../harness/server.ts';
import { tlsRequest } from '../harness/tls-request.ts';

const AUTHORIZATION = { authorization: `Bearer ${OPERATOR_TOKEN}` };
const NAMESPACES = '/api/v1/namespaces';
const JSON_TYPE = { 'content-type': 'application/json' };

describe('the listener', () => {
  let folder: string;
  let test: TestServer;
  let listening: ListeningServer;
  let pki: Pki;
  const ask = (path: string, options: Parameters<typeof tlsRequest>[1] = {}) =>
    tlsRequest(`${listening.url}${path}`, {
      ca: listening.caCert,
      ...options,
      headers: { ...AUTHORIZATION, ...options.headers },
    });

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-listen-'));
    test = await startTestServer();
    listening = await listenTestServer(test, join(folder, 'pki'));
    pki = await openPki(join(folder, 'pki'), ['127.0.0.1', 'localhost'], systemClock, systemIds);
  });
  after(async () => {
    await listening[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  it('speaks TLS that its own authority vouches for, and no plain HTTP', async () => {
    assert.equal((await ask('/version')).status, 200);
    await assert.rejects(tlsRequest(`${listening.url}/version`), /certificate|self-signed/i);
    await assert.rejects(fetch(`http://127.0.0.1:${listening.listener.port}/version`));
  });

  it('serves request after request on one connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (let i = 0; i < 3; i++) assert.equal((await ask('/version', { agent })).status, 200);
      const sockets = Object.values(agent.freeSockets).flat();
      assert.equal(sockets.length, 1);
    } finally {
      agent.destroy();
    }
  });

  it('answers HEAD as GET, without the body', async () => {
    for (const path of [NAMESPACES, `${NAMESPACES}/default`, `${NAMESPACES}?watch=1`]) {
      const head = await ask(path, { method: 'HEAD' });
      assert.deepEqual([head.status, head.text, head.headers['content-type']], [200, '', 'application/json'], path);
    }
    assert.equal((await ask(`${NAMESPACES}/none`, { method: 'HEAD' })).status, 404);
    for (const path of ['/version', '/api']) assert.equal((await ask(path, { method: 'HEAD' })).status, 405, path);
  });

  it('takes a body with a length or in chunks', async () => {
    const body = (name: string) => JSON.stringify({ metadata: { name } });
    const whole = await ask(NAMESPACES, { method: 'POST', headers: JSON_TYPE, body: body('whole') });
    const text = Buffer.from(body('chunked'));
    const chunked = await ask(NAMESPACES, {
      method: 'POST',
      headers: JSON_TYPE,
      body: [text.subarray(0, 9), text.subarray(9)],
    });
    assert.deepEqual([whole.status, chunked.status], [201, 201]);
  });

  it('says 413 to more than 3 MiB, told beforehand or found out, and the answer arrives', async () => {
    const piece = Buffer.alloc(1 << 20, 0x20);
    const pieces = [piece, piece, piece, piece, piece, piece];
    const chunked = await ask(NAMESPACES, { method: 'POST', headers: JSON_TYPE, body: pieces });
    const length = { ...JSON_TYPE, 'content-length': String(6 << 20) };
    const declared = await ask(NAMESPACES, { method: 'POST', headers: length, body: pieces });
    for (const { status, text } of [chunked, declared]) {
      assert.equal(status, 413);
      assert.match(text, /Request entity too large: limit is 3145728/);
    }
    assert.equal((await ask('/version')).status, 200);
  });

  it('ends a watch when its client goes: nothing is left listening', async () => {
    const cache = test.server.parts.cache.resource('core/namespaces');
    const before = cache.listeners;
    const outgoing = request(`${listening.url}${NAMESPACES}?watch=1`, { ca: listening.caCert, headers: AUTHORIZATION });
    outgoing.end();
    const [incoming] = await once(outgoing, 'response');
    assert.equal(cache.listeners, before + 1);
    incoming.destroy();
    for (let turn = 0; cache.listeners > before && turn < 200; turn++) await quiesce();
    assert.equal(cache.listeners, before);
  });

  it('takes a large body right after a large answer, on the same connection', async function () {
    this.timeout(60_000);
    const url = `${listening.url}/api/v1/namespaces/default/configmaps/large?fieldManager=test`;
    // From a process of its own: here the client would never be quicker than the server.
    const env = { ...process.env, LARGE_PATCHES_CA: listening.caCert };
    const client = join(import.meta.dirname, 'large-patches.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [client, url, OPERATOR_TOKEN, '100'], { env });
    assert.equal(stdout, `201\n${'200\n'.repeat(99)}`);
  });

  it('sends the headers of a watch before there is an event', async () => {
    const quiet = `${NAMESPACES}?watch=1&resourceVersion=${test.store.revision()}`;
    const outgoing = request(`${listening.url}${quiet}`, { ca: listening.caCert, headers: AUTHORIZATION });
    outgoing.end();
    const [incoming] = await once(outgoing, 'response');
    assert.equal(incoming.statusCode, 200);
    incoming.destroy();
  });

  it('carries warnings that are not ASCII', async () => {
    const body = JSON.stringify({ metadata: { name: 'odd' }, ключ: 1 });
    const answer = await ask(NAMESPACES, { method: 'POST', headers: JSON_TYPE, body });
    assert.equal(answer.status, 201);
    assert.match(Buffer.from(String(answer.headers.warning), 'latin1').toString('utf8'), /unknown field \\"ключ\\"/);
  });

  it('tells what is no HTTP that it is none, and lives on', async () => {
    for (const [text, status] of [
      ['garbage\r\n\r\n', 400],
      ['GET / HTTP/1.1\r\nbad header\r\n\r\n', 400],
      [`GET / HTTP/1.1\r\nhost: x\r\nlong: ${'x'.repeat(300_000)}\r\n\r\n`, 431],
    ] as const) {
      const socket = connect({ host: '127.0.0.1', port: listening.listener.port, ca: listening.caCert });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      socket.write(text);
      const [first] = await once(socket, 'data');
      assert.match(String(first), new RegExp(`^HTTP/1.1 ${status} `));
      socket.destroy();
    }
    assert.equal((await ask('/version')).status, 200);
  });

  describe('client certificates', () => {
    const certified = (pair: { cert: string; key: string }, path: string) =>
      tlsRequest(`${listening.url}${path}`, { ca: listening.caCert, cert: pair.cert, key: pair.key });
    const forHost = (authority: Pki, name: string, uid: string) => {
      const { user, groups } = hostIdentity(name, uid);
      return authority.issueClient({ commonName: user, organizations: groups.slice(0, 1), serial: uid });
    };

    it('of our authority speak for the Host with their uid, and for no later one of its name', async () => {
      const host = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' } };
      const made = (await send(test.server.app, 'POST', '/apis/coppice.dev/v1/hosts', { body: host })).body;
      const path = '/apis/coppice.dev/v1/hosts/mac-1';
      const uid = String(made.metadata?.uid);
      assert.equal((await certified(await forHost(pki, 'mac-1', uid), path)).status, 200);
      const other = await certified(await forHost(pki, 'mac-1', '7e57ab1e-0000-4000-8000-000000000001'), path);
      assert.equal(other.status, 403);
      assert.match(other.text, /bound to the Host with uid 7e57ab1e/);
    });

    it('of another authority are nobody’s', async () => {
      const foreign = await openPki(join(folder, 'foreign'), [], systemClock, systemIds);
      const pair = await foreign.issueClient({ commonName: 'operator', organizations: ['coppice:operators'] });
      assert.equal((await certified(pair, NAMESPACES)).status, 401);
      const ours = await pki.issueClient({ commonName: 'operator', organizations: ['coppice:operators'] });
      assert.equal((await certified(ours, NAMESPACES)).status, 200);
    });

    it('that are for servers speak for nobody', async () => {
      assert.equal((await certified(await pki.serverLeaf(), NAMESPACES)).status, 401);
    });
  });

  it('takes another leaf without a restart', async () => {
    const other = await openPki(join(folder, 'other'), ['127.0.0.1'], systemClock, systemIds);
    await using second = await listenTestServer(test, join(folder, 'second'));
    const leaf = await other.serverLeaf();
    second.listener.renew({ ...leaf, ca: other.caCert });
    assert.equal((await tlsRequest(`${second.url}/version`, { ca: other.caCert, agent: false })).status, 200);
  });

  it('frees its port, and ends connections and upgraded sockets, when it is disposed', async () => {
    const second = await listenTestServer(test, join(folder, 'third'));
    const outgoing = request(`${second.url}${NAMESPACES}?watch=1`, {
      ca: second.caCert,
      headers: AUTHORIZATION,
      agent: false,
    });
    outgoing.end();
    const [incoming] = await once(outgoing, 'response');
    incoming.on('error', () => {});
    const ended = new Promise((resolve) => incoming.once('close', resolve));
    incoming.resume();
    await second[Symbol.asyncDispose]();
    await ended;
    await assert.rejects(tlsRequest(`${second.url}/version`, { ca: second.caCert, agent: false }), /ECONNREFUSED/);
  });

  it('ends connections that have asked for nothing yet, in the middle of TLS too, when it is disposed', async () => {
    const second = await listenTestServer(test, join(folder, 'fourth'), { handshakeMs: 600_000 });
    const { port } = second.listener;
    const silent = connectPlain(port, '127.0.0.1');
    const greeted = connect({ host: '127.0.0.1', port, ca: second.caCert });
    const ends = [silent, greeted].map((socket) =>
      once(
        socket.on('error', () => {}),
        'close',
      ),
    );
    await Promise.all([once(silent, 'connect'), once(greeted, 'secureConnect')]);
    // Those before it have been taken.
    await tlsRequest(`${second.url}/version`, { ca: second.caCert, agent: false });
    await second[Symbol.asyncDispose]();
    await Promise.all(ends);
  });
});

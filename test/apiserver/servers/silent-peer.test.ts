import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type WebSocket, WebSocketServer } from 'ws';
import { serverIdentity } from '../../../apiserver/auth/identity.ts';
import { openPki } from '../../../apiserver/pki/pki-files.ts';
import { createPeerDialer } from '../../../apiserver/streams/relay.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import type { StreamRequest } from '../../../resources/streams/control-messages.ts';
import { until } from '../../harness/until.ts';
import { closeOf } from '../streams/stream-world.ts';

const STREAM: StreamRequest = { kind: 'logs', guestID: 'g', follow: true };

describe('another server that says nothing more', () => {
  let clock: ManualClock;
  let held: AsyncDisposableStack;
  /** The sockets as the other server sees them; while `mute`, it takes handshakes and never answers them. */
  let taken: WebSocket[];
  let mute: boolean;
  let dial: () => Promise<WebSocket>;
  beforeEach(async () => {
    clock = new ManualClock();
    held = new AsyncDisposableStack();
    taken = [];
    mute = false;
    const folder = mkdtempSync(join(tmpdir(), 'coppice-silent-'));
    held.defer(() => rmSync(folder, { recursive: true, force: true }));
    const pki = await openPki(folder, ['127.0.0.1'], systemClock, systemIds);
    const server = createServer(await pki.serverLeaf());
    const sockets = new WebSocketServer({ noServer: true, autoPong: false });
    server.on('upgrade', (request, socket, head) => {
      if (!mute) sockets.handleUpgrade(request, socket, head, (opened) => taken.push(opened));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    held.defer(() => {
      server.close();
      server.closeAllConnections();
      for (const socket of taken) socket.terminate();
    });
    const { user, groups } = serverIdentity('b');
    const pair = await pki.issueClient({ commonName: user, organizations: groups.slice(0, 1) });
    const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const tls = async () => ({ ca: pki.caCert, ...pair });
    const dialPeer = createPeerDialer({ addressOf: () => address, tls, clock });
    dial = () => dialPeer('a', 'mac-1', STREAM, AbortSignal.timeout(20_000));
  });
  afterEach(() => held.disposeAsync());

  it('is given up after three unanswered questions, and with it the stream', async () => {
    const socket = await dial();
    socket.resume();
    const closed = closeOf(socket);
    const asked = once(taken[0] as WebSocket, 'ping');
    await clock.advance(10_000);
    await asked;
    for (let i = 0; i < 2; i++) await clock.advance(10_000);
    assert.equal(socket.readyState, socket.OPEN);
    await clock.advance(10_000);
    assert.equal((await closed).code, 1006);
  });

  it('stays as long as it sends, or its reader takes nothing', async () => {
    const socket = await dial();
    for (let i = 0; i < 6; i++) await clock.advance(10_000);
    assert.equal(socket.readyState, socket.OPEN, 'held back, it was given up');
    let heard = 0;
    socket.on('message', () => heard++);
    socket.resume();
    for (let i = 1; i <= 6; i++) {
      taken[0]?.send('more');
      await until('it is heard', () => heard === i);
      await clock.advance(10_000);
    }
    assert.equal(socket.readyState, socket.OPEN);
  });

  it('is given up when it does not answer the handshake', async () => {
    mute = true;
    const refused = assert.rejects(dial(), {
      reason: 'ServiceUnavailable',
      message: 'host mac-1 is connected to API server a, which did not answer within 15 s',
    });
    await until('it is asked', async () => {
      await clock.advance(15_000);
      return Promise.race([refused.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
    });
  });
});

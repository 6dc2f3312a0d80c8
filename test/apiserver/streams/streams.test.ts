import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:https';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { MAX_MESSAGE_BYTES } from '../../../resources/streams/channel-frames.ts';
import {
  CONTROL_PROTOCOL,
  DIALBACK_PROTOCOL,
  STREAM_CLOSE,
  TICKET_LIFETIME_MS,
} from '../../../resources/streams/control-messages.ts';
import { createVM, VMS_URL } from '../../harness/quota-world.ts';
import { send } from '../../harness/raw.ts';
import { OPERATOR_TOKEN } from '../../harness/server.ts';
import { tlsRequest } from '../../harness/tls-request.ts';
import { until } from '../../harness/until.ts';
import { EXEC, HOSTS, patchVM } from './host-with-web.ts';
import { closeOf, LOGS, messageOf, refusalOf, StreamWorld } from './stream-world.ts';

const AUTHORIZATION = { authorization: `Bearer ${OPERATOR_TOKEN}` };

describe('streams', () => {
  let world: StreamWorld;
  let clock: ManualClock;
  const logs = (query = '') =>
    tlsRequest(`${world.listening.url}${LOGS}${query}`, { ca: world.listening.caCert, headers: AUTHORIZATION });
  beforeEach(async () => {
    clock = new ManualClock();
    world = await StreamWorld.start(clock);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  describe('exec', () => {
    it('joins the client and a socket its nodelet dials back with, both ways, and passes how it closed', async () => {
      const nodelet = await world.connect();
      const client = world.client(`${VMS_URL}/web/exec?command=echo&command=hi&stdin=true`);
      const { ticket, stream } = await nodelet.dial();
      assert.equal(stream.kind, 'exec');
      assert.deepEqual(
        { ...stream, guestID: '' },
        { kind: 'exec', guestID: '', command: ['echo', 'hi'], stdin: true, tty: false },
      );
      const socket = world.dialBack('mac-1', ticket);
      await once(socket, 'open');
      socket.send('first words, before anybody was joined');
      await once(client, 'open');
      assert.equal(await messageOf(client), 'first words, before anybody was joined');
      client.send('and back');
      assert.equal(await messageOf(socket), 'and back');
      socket.close(STREAM_CLOSE.failed, 'so it goes');
      assert.deepEqual(await closeOf(client), { code: STREAM_CLOSE.failed, reason: 'so it goes' });
    });

    it('loses nothing of what a nodelet says while the client’s handshake is still under way', async () => {
      const nodelet = await world.connect();
      for (let round = 0; round < 5; round++) {
        const client = world.client();
        const heard: string[] = [];
        client.on('message', (data) => heard.push(String(data)));
        const { ticket } = await nodelet.dial();
        const socket = world.dialBack('mac-1', ticket);
        await once(socket, 'open');
        for (let i = 0; i < 500; i++) socket.send(`${i} ${'x'.repeat(200)}`);
        socket.close(STREAM_CLOSE.done);
        await closeOf(client);
        assert.deepEqual(
          heard.map((text) => Number(text.split(' ')[0])),
          Array.from({ length: 500 }, (_, i) => i),
        );
      }
    });

    it('closes the nodelet’s side when the client breaks off', async () => {
      const nodelet = await world.connect();
      const client = world.client();
      const socket = await nodelet.answer();
      if (client.readyState !== client.OPEN) await once(client, 'open');
      client.terminate();
      assert.equal((await closeOf(socket)).code, 1011);
    });

    it('lets go of the nodelet’s socket when the client left before it came', async () => {
      const nodelet = await world.connect();
      const client = world.client();
      const { ticket } = await nodelet.dial();
      client.terminate();
      const socket = world.dialBack('mac-1', ticket);
      const refused = refusalOf(socket).then(({ status }) => status);
      const closed = once(socket, 'close').then(() => 'closed');
      const how = await Promise.race([refused, closed]);
      assert.ok(how === 403 || how === 'closed', String(how));
    });

    it('is refused in HTTP, with a Status that has its code', async () => {
      await createVM(world.test.server.app, 'unplaced');
      const cases: [path: string, status: number, reason: string, cause?: string][] = [
        [`${VMS_URL}/web/exec`, 400, 'BadRequest'],
        [`${VMS_URL}/none/exec?command=x`, 404, 'NotFound'],
        [`${VMS_URL}/unplaced/exec?command=x`, 403, 'Forbidden', 'NotPlaced'],
        [EXEC, 503, 'ServiceUnavailable'],
        [`${VMS_URL}/web/nothing`, 404, 'NotFound'],
        [`${HOSTS}/mac-1/control`, 403, 'Forbidden'],
        ['/version', 404, 'NotFound'],
      ];
      for (const [path, status, reason, cause] of cases) {
        const refusal = await refusalOf(world.client(path));
        const { body } = refusal;
        assert.deepEqual(
          [refusal.status, body.code, body.reason, body.details?.causes?.[0]?.reason],
          [status, status, reason, cause],
          path,
        );
        if (status === 503) assert.equal(refusal.headers['retry-after'], '1');
      }
      const guest = { id: 'g', power: 'Off', epoch: 1 };
      await patchVM(world.test.server.app, 'web/status', { status: { phase: 'Stopped', guest } });
      assert.equal((await refusalOf(world.client())).body.details?.causes?.[0]?.reason, 'NotRunning');
    });

    it('needs a credential, the right protocol, and an upgrade', async () => {
      assert.equal((await refusalOf(world.socket(EXEC, 'v5.channel.k8s.io'))).status, 401);
      const protocol = await refusalOf(world.client(EXEC, 'v1.nothing'));
      assert.deepEqual([protocol.status, protocol.body.reason], [400, 'BadRequest']);
      const plain = await tlsRequest(`${world.listening.url}${EXEC}`, {
        ca: world.listening.caCert,
        headers: AUTHORIZATION,
      });
      assert.equal(plain.status, 400);
      assert.match(plain.text, /Upgrade request required/);
      assert.equal((await send(world.test.server.app, 'DELETE', LOGS)).status, 405);
    });

    it('holds a sender back while the other side does not read, and loses nothing', async function () {
      this.timeout(20_000);
      const nodelet = await world.connect();
      const client = world.client();
      const socket = await nodelet.answer();
      if (client.readyState !== client.OPEN) await once(client, 'open');
      client.pause();
      const piece = Buffer.alloc(MAX_MESSAGE_BYTES, 1);
      const pieces = Math.ceil((32 << 20) / piece.length);
      for (let i = 0; i < pieces; i++) socket.send(piece);
      // Without pressure back it all goes to the server, which takes a while: a hundred looks without headway are none.
      let before = -1;
      let still = 0;
      await until('the sender makes no headway', () => {
        still = socket.bufferedAmount === before ? still + 1 : 0;
        before = socket.bufferedAmount;
        return still > 100;
      });
      assert.ok(
        socket.bufferedAmount > (pieces * piece.length) / 4,
        `${socket.bufferedAmount} bytes wait at the sender`,
      );
      let bytes = 0;
      client.on('message', (data: Buffer) => {
        bytes += data.length;
      });
      client.resume();
      await until('everything arrives', () => bytes === pieces * piece.length);
    });
  });

  describe('tickets', () => {
    it('serve once', async () => {
      const nodelet = await world.connect();
      const client = world.client();
      const { ticket } = await nodelet.dial();
      const first = world.dialBack('mac-1', ticket);
      await Promise.all([once(first, 'open'), once(client, 'open')]);
      const again = await refusalOf(world.dialBack('mac-1', ticket));
      assert.deepEqual([again.status, again.body.reason], [403, 'Forbidden']);
    });

    it('serve the host they were given to', async () => {
      const nodelet = await world.connect();
      const client = world.client();
      const { ticket } = await nodelet.dial();
      assert.equal((await refusalOf(world.dialBack('mac-2', ticket))).status, 403);
      const stolen = world.socket(`${HOSTS}/mac-1/dialback?ticket=${ticket}`, DIALBACK_PROTOCOL, {
        ...world.pairs['mac-2'],
      });
      assert.equal((await refusalOf(stolen)).status, 403);
      await Promise.all([once(world.dialBack('mac-1', ticket), 'open'), once(client, 'open')]);
    });

    it('are void when they come too late, and the client is told 503', async () => {
      const nodelet = await world.connect();
      const refused = refusalOf(world.client());
      const { ticket } = await nodelet.dial();
      await clock.advance(TICKET_LIFETIME_MS);
      assert.equal((await refused).status, 503);
      assert.equal((await refusalOf(world.dialBack('mac-1', ticket))).status, 403);
    });
  });

  describe('logs', () => {
    it('are the nodelet’s bytes', async () => {
      const nodelet = await world.connect();
      const answer = logs('?tailLines=5');
      const { ticket, stream } = await nodelet.dial();
      assert.deepEqual({ ...stream, guestID: '' }, { kind: 'logs', guestID: '', follow: false, tailLines: 5 });
      const socket = world.dialBack('mac-1', ticket);
      await once(socket, 'open');
      socket.send('one\n');
      socket.send('two\n');
      socket.close(STREAM_CLOSE.done);
      const { status, text } = await answer;
      assert.deepEqual([status, text], [200, 'one\ntwo\n']);
    });

    it('that cannot be had are the status of the nodelet’s reason', async () => {
      const nodelet = await world.connect();
      for (const [code, status] of [
        [STREAM_CLOSE.noSuchGuest, 404],
        [STREAM_CLOSE.notRunning, 403],
        [STREAM_CLOSE.failed, 503],
      ] as const) {
        const answer = logs();
        (await nodelet.answer()).close(code, 'no');
        assert.equal((await answer).status, status);
      }
      assert.equal((await logs('?tailLines=-1')).status, 400);
    });

    it('that break in the middle break for the reader too', async () => {
      const nodelet = await world.connect();
      const answer = logs();
      const socket = await nodelet.answer();
      socket.send('half', () => socket.close(STREAM_CLOSE.failed, 'disk error'));
      await assert.rejects(answer, /aborted|ECONNRESET|socket hang up/);
    });

    it('end at the nodelet when the reader leaves', async () => {
      const nodelet = await world.connect();
      const outgoing = get(`${world.listening.url}${LOGS}?follow=true`, {
        ca: world.listening.caCert,
        headers: AUTHORIZATION,
      });
      outgoing.on('error', () => {});
      const socket = await nodelet.answer();
      socket.send('x');
      await once(outgoing, 'response');
      const closed = closeOf(socket);
      outgoing.destroy();
      assert.equal((await closed).code, 1000);
    });
  });

  describe('control sockets', () => {
    it('of a host that connects again are replaced', async () => {
      const first = await world.connect();
      const closed = closeOf(first.socket);
      const second = await world.connect();
      assert.equal((await closed).code, 4000);
      assert.deepEqual(world.test.server.hub.hosts(), ['mac-1']);
      world.client();
      assert.equal((await second.dial()).stream.kind, 'exec');
    });

    it('that stay silent for three intervals are ended; those that answer stay', async () => {
      const silent = await world.connect('mac-2', { autoPong: false });
      const closed = closeOf(silent.socket);
      const answering = await world.connect('mac-1');
      for (let i = 0; i < 5; i++) {
        const ponged = once(answering.socket, 'ping');
        await clock.advance(10_000);
        await ponged;
        // The server hears the pong once its bytes are there.
        await until('the ping was answered', () => answering.socket.bufferedAmount === 0);
        await send(world.test.server.app, 'GET', '/version');
      }
      assert.equal((await closed).code, 1006);
      await until('only mac-1 is left', () => world.test.server.hub.hosts().join() === 'mac-1');
    });

    it('are for the host itself: not for another, nor for one whose Host is gone', async () => {
      const other = world.socket(`${HOSTS}/mac-2/control`, CONTROL_PROTOCOL, { ...world.pairs['mac-1'] });
      assert.equal((await refusalOf(other)).status, 403);
      const nodelet = await world.connect('mac-2');
      const closed = closeOf(nodelet.socket);
      assert.equal((await send(world.test.server.app, 'DELETE', `${HOSTS}/mac-2`)).status, 200);
      assert.deepEqual(await closed, { code: 4403, reason: 'its Host was deleted' });
      const again = world.socket(`${HOSTS}/mac-2/control`, CONTROL_PROTOCOL, { ...world.pairs['mac-2'] });
      assert.equal((await refusalOf(again)).status, 403);
    });

    it('end with the server, and with them the streams that wait', async () => {
      const nodelet = await world.connect();
      const refused = refusalOf(world.client());
      await nodelet.dial();
      const closed = closeOf(nodelet.socket);
      await world.test.server[Symbol.asyncDispose]();
      assert.equal((await closed).code, 1001);
      assert.equal((await refused).status, 503);
    });

    it('do not keep a listener from closing, nor do joined streams', async () => {
      const nodelet = await world.connect();
      const client = world.client();
      const socket = await nodelet.answer();
      if (client.readyState !== client.OPEN) await once(client, 'open');
      const closed = Promise.all([closeOf(client), closeOf(socket), closeOf(nodelet.socket)]);
      await world.listening[Symbol.asyncDispose]();
      assert.deepEqual(
        (await closed).map(({ code }) => code),
        [1006, 1006, 1006],
      );
    });
  });

  describe('presence', () => {
    const lease = async () =>
      (
        await send(
          world.test.server.app,
          'GET',
          '/apis/coordination.k8s.io/v1/namespaces/coppice-system/leases/host-mac-1',
        )
      ).body;

    it('is a coordination Lease, written when the socket comes, goes, and every minute between', async () => {
      const nodelet = await world.connect();
      await until('the lease is there', async () => (await lease()).kind === 'Lease');
      const first = await lease();
      assert.equal(first.spec?.holderIdentity, 'test');
      await clock.advance(9_000);
      assert.equal(
        (await lease()).metadata?.resourceVersion,
        first.metadata?.resourceVersion,
        'a heartbeat costs no write',
      );
      for (let i = 0; i < 6; i++) await clock.advance(9_000);
      await until('it is renewed', async () => (await lease()).spec?.renewTime !== first.spec?.renewTime);
      nodelet.socket.close();
      await until('nobody holds it', async () => {
        const { spec } = await lease();
        return spec?.holderIdentity === undefined || spec.holderIdentity === null;
      });
    });
  });
});

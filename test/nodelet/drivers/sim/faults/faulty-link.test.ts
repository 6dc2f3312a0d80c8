import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { ApiResponse } from '../../../../../apiserver/client/transport.ts';
import { FaultyLink } from '../../../../../nodelet/drivers/sim/faults/faulty-link.ts';
import { HostFaults } from '../../../../../nodelet/drivers/sim/faults/host-faults.ts';
import { silentLogger } from '../../../../../resources/ambient/log.ts';
import { ManualClock } from '../../../../../resources/ambient/manual-clock.ts';
import { CONTROL_PROTOCOL, DIALBACK_PROTOCOL } from '../../../../../resources/streams/control-messages.ts';
import { StreamServer } from '../../../streams/stream-server.ts';
import { eventually } from '../../eventually.ts';

describe('the way from a host with faults to the API server', () => {
  let clock: ManualClock;
  let faults: HostFaults;
  let link: FaultyLink;
  let asked: string[];
  /** Bodies that were given up before their end. */
  let returned: number;
  const { signal } = new AbortController();

  beforeEach(() => {
    clock = new ManualClock();
    faults = new HostFaults({ host: 'mac-1', faults: [], seed: 1, clock, log: silentLogger });
    link = new FaultyLink('mac-1', faults, clock);
    asked = [];
    returned = 0;
  });
  afterEach(() => {
    link[Symbol.dispose]();
    faults[Symbol.dispose]();
  });

  function body(chunks: readonly string[]): ApiResponse['body'] {
    const left = chunks.map((chunk) => new TextEncoder().encode(chunk));
    return {
      [Symbol.asyncIterator]: () => ({
        async next() {
          const value = left.shift();
          return value === undefined ? { done: true, value } : { value };
        },
        async return() {
          returned += 1;
          return { done: true, value: undefined };
        },
      }),
    };
  }
  const send = (path: string, answered: Promise<void> = Promise.resolve()) =>
    link.transport(async (request): Promise<ApiResponse> => {
      asked.push(request.path);
      await answered;
      return { status: 200, headers: {}, body: body(['a', 'b']) };
    })({ method: 'GET', path, signal });
  const cutOff = (more: { readonly after?: string; readonly for?: string } = {}) =>
    faults.add([{ fault: 'Partition', ...more }]);
  const settled = async (promise: Promise<unknown>) => {
    let is = false;
    const done = () => {
      is = true;
    };
    promise.then(done, done);
    await clock.advance(0);
    await setImmediate();
    return is;
  };

  it('lets requests pass while nothing is wrong', async () => {
    const response = await send('/a');
    const chunks: string[] = [];
    for await (const chunk of response.body) chunks.push(new TextDecoder().decode(chunk));
    assert.deepEqual([asked, chunks], [['/a'], ['a', 'b']]);
  });

  it('holds a request until it is open again', async () => {
    cutOff({ for: '5s' });
    const response = send('/a');
    assert.equal(await settled(response), false);
    assert.deepEqual(asked, []);
    await clock.advance(5_000);
    assert.equal((await response).status, 200);
    assert.equal(clock.waiting, 0);
  });

  it('lets a request fail that waits too long', async () => {
    cutOff();
    const response = send('/a');
    const refused = assert.rejects(response, { name: 'UnreachableError', reason: 'timeout', sent: false });
    await clock.advance(9_999);
    assert.equal(await settled(response), false);
    await clock.advance(1);
    await refused;
    assert.deepEqual(asked, []);
  });

  it('holds back an answer, which may never be heard though what was asked is done', async () => {
    const answered = Promise.withResolvers<void>();
    const response = send('/a', answered.promise);
    const refused = assert.rejects(response, { name: 'UnreachableError', sent: true });
    await settled(response);
    cutOff();
    answered.resolve();
    assert.equal(await settled(response), false);
    await clock.advance(10_000);
    await refused;
    assert.deepEqual([asked, returned], [['/a'], 1]);
    assert.equal(clock.waiting, 0);
  });

  it('is silent to a watch, which goes on afterwards', async () => {
    const chunks = (await send('/a')).body[Symbol.asyncIterator]();
    await chunks.next();
    cutOff({ for: '10m' });
    const next = chunks.next();
    await clock.advance(599_000);
    assert.equal(await settled(next), false);
    await clock.advance(1_000);
    assert.equal(new TextDecoder().decode((await next).value), 'b');
  });

  it('lets go of a request that is not waited for any more', async () => {
    cutOff();
    const leaving = new AbortController();
    const response = link.transport(async () => assert.fail('sent'))({
      method: 'GET',
      path: '/',
      signal: leaving.signal,
    });
    leaving.abort(new Error('left'));
    await assert.rejects(response, /left/);
    assert.equal(clock.waiting, 0);
  });

  describe('for sockets', () => {
    let server: StreamServer;
    const opened: WebSocket[] = [];
    beforeEach(async () => {
      server = await StreamServer.listen();
    });
    afterEach(async () => {
      link.cut();
      await server[Symbol.asyncDispose]();
      opened.length = 0;
    });

    const open = async (what: 'control' | 'dialback') => {
      const ticket = server.ticket();
      const path = `/apis/coppice.dev/v1/hosts/mac-1/${what}?ticket=${ticket.ticket}`;
      const protocol = what === 'control' ? CONTROL_PROTOCOL : DIALBACK_PROTOCOL;
      const socket = await link.open({ url: server.url }, path, protocol, signal);
      socket.on('error', () => {});
      opened.push(socket);
      return socket;
    };
    const isOpen = (socket: WebSocket) => eventually('it is open', () => socket.readyState === socket.OPEN);
    const isClosed = (socket: WebSocket) => eventually('it is closed', () => socket.readyState === socket.CLOSED);

    it('has the control socket hear nothing in a partition, and what was said when it is over', async () => {
      const control = await open('control');
      await isOpen(control);
      const heard: string[] = [];
      control.on('message', (data) => heard.push(String(data)));
      server.controls[0]?.send('before');
      await eventually('it hears', () => heard.length === 1);
      cutOff();
      let pongs = 0;
      server.controls[0]?.on('pong', () => pongs++);
      server.controls[0]?.send('while');
      server.controls[0]?.ping();
      const stream = open('dialback');
      assert.equal(await settled(stream), false);
      assert.deepEqual([heard.length, pongs, control.readyState], [1, 0, control.OPEN]);
      faults.heal();
      await eventually('it hears again', () => heard.join() === 'before,while' && pongs === 1);
      await isOpen(await stream);
    });

    it('ends streams in a partition, as nothing of them may pass', async () => {
      const stream = await open('dialback');
      await isOpen(stream);
      cutOff();
      await isClosed(stream);
    });

    it('has only the control socket missing without a heartbeat', async () => {
      const [control, stream] = [await open('control'), await open('dialback')];
      await Promise.all([isOpen(control), isOpen(stream)]);
      faults.add([{ fault: 'LostHeartbeat', for: '1m' }]);
      await isClosed(control);
      assert.equal(stream.readyState, stream.OPEN);
      await isOpen(await open('dialback'));
      assert.equal((await send('/a')).status, 200);
      const again = open('control');
      assert.equal(await settled(again), false);
      await clock.advance(60_000);
      await isOpen(await again);
    });

    it('has no socket left after a crash', async () => {
      const sockets = [await open('control'), await open('dialback')];
      await Promise.all(sockets.map(isOpen));
      link.cut();
      await Promise.all(sockets.map(isClosed));
    });
  });
});

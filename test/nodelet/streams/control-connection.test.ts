import assert from 'node:assert/strict';
import { ServerChoice } from '../../../apiserver/client/server-choice.ts';
import { Standing } from '../../../nodelet/standing.ts';
import { keepControlConnection } from '../../../nodelet/streams/control-connection.ts';
import { lineLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import {
  PING_INTERVAL_MS,
  SECOND_NODELET_CLOSE,
  type StreamRequest,
} from '../../../resources/streams/control-messages.ts';
import { eventually } from '../drivers/eventually.ts';
import { StreamServer } from './stream-server.ts';

describe('control connection', () => {
  let server: StreamServer;
  let clock: ManualClock;
  let ending: AbortController;
  let done: Promise<void>;
  let dials: [string, StreamRequest][];
  let askedBy: string[];
  let silent: string[];
  /** Servers besides the first. */
  let more: StreamServer[];
  let losses: number;
  let standing: Standing;
  let errors: string[];
  /** What the last loss was answered with. */
  let againInMs: number;

  beforeEach(async () => {
    server = await StreamServer.listen();
    clock = new ManualClock();
    ending = new AbortController();
    dials = [];
    askedBy = [];
    silent = [];
    more = [];
    losses = 0;
    standing = new Standing(false);
    errors = [];
  });
  afterEach(async () => {
    ending.abort();
    await done;
    for (const each of [server, ...more]) await each[Symbol.asyncDispose]();
  });

  const start = (random = 0.5) => {
    const servers = new ServerChoice(
      [server, ...more].map(({ url }) => url),
      () => 0,
    );
    servers.onSilent((url) => silent.push(url));
    done = keepControlConnection(
      {
        host: 'mac-1',
        control: { servers },
        clock,
        random: () => random,
        log: lineLogger(
          (line) => {
            if (line.includes('this nodelet does not act')) errors.push(line);
            if (!line.includes('control socket lost')) return;
            losses += 1;
            againInMs = Number(/againInMs=(\d+)/.exec(line)?.[1]);
          },
          () => clock.now(),
        ),
        instance: { id: 'one', where: 'here' },
        standing,
        onDial: (ticket, stream, { url }) => {
          dials.push([ticket, stream]);
          askedBy.push(url);
        },
      },
      ending.signal,
    );
  };
  const control = (nth = 0) => eventually(`control socket ${nth}`, () => server.controls[nth]);
  const closed = (nth: number) => eventually('it is closed', () => server.controls[nth]?.readyState === 3);
  /** The nth wait before the next try has begun. */
  const waits = (nth = 1) => eventually('it waits', () => losses === nth && clock.waiting === 1);

  it('passes on what the server asks for, and passes over what nobody understands', async () => {
    start();
    const socket = await control();
    assert.deepEqual(server.paths, ['/apis/coppice.dev/v1/hosts/mac-1/control']);
    const logs = { kind: 'logs', guestID: 'g', follow: true, tailLines: 5 };
    const exec = { kind: 'exec', guestID: 'g', command: ['ls'], stdin: true, tty: false };
    for (const text of [
      'no JSON',
      '{"type":"other"}',
      JSON.stringify({ type: 'dial', ticket: 't', stream: { kind: 'exec', guestID: 'g', command: 'ls' } }),
      JSON.stringify({ type: 'dial', ticket: 't1', stream: logs }),
      JSON.stringify({ type: 'dial', ticket: 't2', stream: exec }),
    ]) {
      socket.send(text);
    }
    await eventually('both are passed on', () => dials.length === 2);
    assert.deepEqual(dials, [
      ['t1', logs],
      ['t2', exec],
    ]);
  });

  it('is opened again after a loss', async () => {
    start();
    (await control()).terminate();
    await waits();
    await clock.advance(500);
    await control(1);
  });

  it('waits longer each time it does not come up, never longer than half a minute, and begins anew after it did', async () => {
    server.refuse = true;
    start(1);
    let tries = 0;
    for (const delayMs of [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      tries += 1;
      await waits(tries);
      assert.equal(againInMs, delayMs);
      const before = server.paths.length;
      await clock.advance(delayMs - 1);
      assert.equal(server.paths.length, before);
      await clock.advance(1);
      await eventually('it tries', () => server.paths.length > before);
    }
    await waits(tries + 1);
    server.refuse = false;
    await clock.advance(30_000);
    (await control()).terminate();
    await waits(tries + 2);
    await clock.advance(500);
    await control(1);
  });

  it('is given up after three silent intervals', async () => {
    start();
    const socket = await control();
    await heard();
    await clock.advance(3 * PING_INTERVAL_MS - 1);
    assert.deepEqual([socket.readyState, silent], [1, []]);
    await clock.advance(1);
    await closed(0);
    await waits();
    assert.deepEqual(silent, [server.url]);
    await clock.advance(500);
    await control(1);
  });

  it('is kept while the server pings', async () => {
    start();
    const socket = await control();
    for (let i = 0; i < 10; i++) {
      await clock.advance(2 * PING_INTERVAL_MS);
      await heard();
    }
    assert.equal(server.controls.length, 1);
    assert.equal(socket.readyState, 1);
  });

  it('turns to the next server within half a second when one is lost, and serves the streams of that one', async () => {
    more = [await StreamServer.listen()];
    start();
    await control();
    await server[Symbol.asyncDispose]();
    await waits();
    assert.equal(againInMs, 250);
    await clock.advance(250);
    const socket = await eventually('it is open elsewhere', () => more[0]?.controls[0]);
    const stream = { kind: 'logs', guestID: 'g', follow: true };
    socket.send(JSON.stringify({ type: 'dial', ticket: 't', stream }));
    await eventually('it is passed on', () => dials.length === 1);
    assert.deepEqual(askedBy, [more[0]?.url]);
  });

  it('tries each other server at once, and waits only when none takes it', async () => {
    more = [await StreamServer.listen(), await StreamServer.listen()];
    const [second, third] = more as [StreamServer, StreamServer];
    second.refuse = true;
    third.refuse = true;
    start(1);
    (await control()).terminate();
    await waits();
    server.refuse = true;
    const round = () => [server, second, third].map(({ paths }) => paths.length);
    assert.deepEqual([againInMs, round()], [500, [1, 0, 0]]);
    await clock.advance(500);
    await eventually('the third was tried', () => losses === 3 && clock.waiting === 1);
    assert.deepEqual([againInMs, round()], [500, [1, 1, 1]]);
    await clock.advance(500);
    await eventually('all were tried', () => losses === 6 && clock.waiting === 1);
    assert.deepEqual([againInMs, round()], [1000, [2, 2, 2]]);
    second.refuse = false;
    await clock.advance(1000);
    await eventually('it is open', () => second.controls[0]);
  });

  it('may act from when a server took it, also without one, until a server refuses it for another', async () => {
    server.second = 'another nodelet is at mac7';
    start(1);
    const passes = async (ms: number, what: string, holds: () => boolean) => {
      await eventually('it waits', () => clock.waiting === 1);
      await clock.advance(ms);
      await eventually(what, holds);
    };
    await eventually('it is refused', () => standing.refusal === 'another nodelet is at mac7');
    assert.equal(standing.acts, false);
    for (const ms of [500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
      const tries = server.paths.length;
      await passes(ms, 'it is tried again', () => server.paths.length === tries + 1);
    }
    assert.equal(errors.length, 1, 'said once');
    assert.match(errors[0] ?? '', /mac7/);
    server.second = undefined;
    await passes(5_000, 'it is taken', () => standing.acts && standing.refusal === undefined);
    server.refuse = true;
    server.controls[0]?.terminate();
    await waits();
    assert.equal(standing.acts, true, 'a server that is away changes nothing');
    server.refuse = false;
    await passes(500, 'it is open', () => server.controls.length === 2);
    server.controls[1]?.close(SECOND_NODELET_CLOSE, 'another is at work');
    await eventually('it is let go of', () => !standing.acts);
    assert.equal(errors.length, 2);
  });

  it('gives up a server that does not take it, sooner than a silent one', async () => {
    more = [await StreamServer.listen()];
    const [second] = more as [StreamServer];
    server.stall = true;
    start();
    await eventually('it is tried', () => server.paths.length === 1);
    await clock.advance(5_000);
    await eventually('it is open elsewhere', async () => {
      await clock.advance(1);
      return second.controls[0];
    });
  });

  it('is closed when the signal aborts, also while it waits', async () => {
    start();
    await control();
    ending.abort();
    await done;
    await closed(0);
    assert.equal(clock.waiting, 0);
  });

  /** A ping, and its pong: what was sent before has arrived. */
  async function heard(): Promise<void> {
    const socket = server.controls.at(-1);
    await new Promise<void>((resolve) => {
      socket?.once('pong', () => resolve());
      socket?.ping();
    });
  }
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { WebSocket } from 'ws';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import {
  CONTROL_PROTOCOL,
  INSTANCE_ANNOTATION,
  PING_INTERVAL_MS,
  SECOND_NODELET_CLOSE,
} from '../../../resources/streams/control-messages.ts';
import { until } from '../../harness/until.ts';
import { HOSTS } from '../streams/host-with-web.ts';
import { closeOf, refusalOf } from '../streams/stream-world.ts';
import { type PairedServer, StreamPair } from './stream-pair.ts';

describe('two nodelets with one identity', () => {
  let pair: StreamPair;
  let clock: ManualClock;
  beforeEach(async () => {
    clock = new ManualClock();
    pair = await StreamPair.start(clock);
  });
  afterEach(() => pair[Symbol.asyncDispose]());

  const ask = (server: PairedServer, instance: string): WebSocket =>
    pair.socket(
      server,
      `${HOSTS}/mac-1/control?${new URLSearchParams({ instance, where: `home of ${instance}` })}`,
      CONTROL_PROTOCOL,
      pair.hostPair,
    );
  const open = async (server: PairedServer, instance: string): Promise<WebSocket> => {
    const socket = ask(server, instance);
    socket.once('unexpected-response', (_, { statusCode }) => socket.emit('error', new Error(`${statusCode}`)));
    await once(socket, 'open');
    await until('its Lease tells', async () => (await pair.holder()) === server.name);
    return socket;
  };
  const refused = async (server: PairedServer, instance: string) => {
    const { status, body } = await refusalOf(ask(server, instance));
    assert.deepEqual([status, body.reason, body.details?.causes?.[0]?.reason], [409, 'Conflict', 'SecondNodelet']);
    return body.message;
  };
  const lost = () => until('it is seen to be gone', async () => (await pair.holder()) === undefined);

  it('are told apart: the second is refused while the first is connected, at every server, and told of it', async () => {
    const first = await open(pair.a, 'one');
    for (const server of [pair.a, pair.b])
      assert.equal(await refused(server, 'two'), 'another nodelet speaks for host mac-1: home of one');
    for (let i = 0; i < 15; i++) {
      const before = pair.a.test.server.hub.probe('mac-1') ?? 0;
      await clock.advance(PING_INTERVAL_MS);
      await until('it is heard', () => (pair.a.test.server.hub.probe('mac-1') ?? 0) > before);
      for (const server of [pair.a, pair.b]) await refused(server, 'two');
    }
    assert.equal(first.readyState, first.OPEN);
  });

  for (const where of ['a', 'b'] as const)
    it(`the second has its turn at ${where} seconds after the first closed at a, not at once`, async () => {
      (await open(pair.a, 'one')).close();
      await lost();
      await refused(pair[where], 'two');
      await clock.advance(2_900);
      await refused(pair[where], 'two');
      await clock.advance(200);
      await open(pair[where], 'two');
      await refused(pair.a, 'one');
    });

  it('the first comes back at once, to either server, and its time begins anew', async () => {
    (await open(pair.a, 'one')).close();
    await lost();
    await refused(pair.b, 'two');
    await clock.advance(2_900);
    (await open(pair.b, 'one')).close();
    await lost();
    await clock.advance(2_900);
    await refused(pair.b, 'two');
  });

  it('the first replaces its own socket at once', async () => {
    const older = await open(pair.a, 'one');
    const closed = closeOf(older);
    await open(pair.a, 'one');
    assert.equal((await closed).code, 4000);
  });

  it('the second waits as long as a nodelet may take to miss its server, when that was killed', async () => {
    await open(pair.a, 'one');
    await pair.kill(pair.a);
    await pair.a.announced[Symbol.asyncDispose]();
    await refused(pair.b, 'two');
    await clock.advance(4 * PING_INTERVAL_MS - 1);
    await refused(pair.b, 'two');
    await clock.advance(1);
    await open(pair.b, 'two');
  });

  it('one whose turn went to another is let go of', async () => {
    const first = await open(pair.a, 'one');
    const closed = closeOf(first);
    await pair.writeLease('host-mac-1', { metadata: { annotations: { [INSTANCE_ANNOTATION]: 'two' } } });
    assert.equal((await closed).code, SECOND_NODELET_CLOSE);
  });
});

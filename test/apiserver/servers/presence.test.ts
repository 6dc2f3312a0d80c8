import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { CONTROL_PROTOCOL, HOST_LEASE_RENEWAL_MS } from '../../../resources/streams/control-messages.ts';
import { send } from '../../harness/raw.ts';
import { until } from '../../harness/until.ts';
import { HOSTS } from '../streams/host-with-web.ts';
import { StreamPair } from './stream-pair.ts';

describe('who holds a host, with two servers', () => {
  let pair: StreamPair;
  let clock: ManualClock;
  beforeEach(async () => {
    clock = new ManualClock();
    pair = await StreamPair.start(clock);
  });
  afterEach(() => pair[Symbol.asyncDispose]());

  /** Whoever was to write has written. */
  const settled = async () => {
    for (const { test } of [pair.a, pair.b]) await send(test.server.app, 'GET', HOSTS);
  };

  it('is the server it connected to last, whatever the earlier one finds out later', async () => {
    const first = await pair.connect(pair.a);
    await pair.connect(pair.b);
    first.socket.terminate();
    await until('a has seen it go', () => !pair.a.test.server.hub.has('mac-1'));
    await settled();
    assert.equal(await pair.holder(), 'b');
  });

  it('is nobody once its last server lost it', async () => {
    const nodelet = await pair.connect(pair.a);
    nodelet.socket.terminate();
    await until('nobody holds it', async () => (await pair.holder()) === undefined);
  });

  it('stays who it is when the renewals of a socket that is no more come round', async () => {
    await pair.connect(pair.a, { autoPong: false });
    await pair.connect(pair.b);
    // The ping that finds the dead socket out comes later than the renewal here.
    for (let gone = 0; gone < 29_000; gone += 1_000) {
      await clock.advance(1_000);
      await settled();
      assert.equal(await pair.holder(), 'b');
    }
  });

  it('is the one that hears it, should the writes of two come in the wrong order', async () => {
    await pair.connect(pair.a);
    await pair.writeLease('host-mac-1', { spec: { holderIdentity: 'b' } });
    for (let i = 0; i < 4; i++) {
      await clock.advance(1_000);
      await settled();
    }
    await until('a has it back', async () => (await pair.holder()) === 'a');
  });

  it('is written when the host comes, and once a minute after that', async () => {
    const socket = pair.socket(pair.a, `${HOSTS}/mac-1/control`, CONTROL_PROTOCOL, pair.hostPair);
    await once(socket, 'open');
    await until('a holds it', async () => (await pair.holder()) === 'a');
    const version = async () => (await pair.lease('host-mac-1')).metadata?.resourceVersion;
    const first = await version();
    for (let gone = 0; gone < HOST_LEASE_RENEWAL_MS - 1_000; gone += 1_000) await clock.advance(1_000);
    await settled();
    assert.equal(await version(), first);
    await clock.advance(2_000);
    await until('it is renewed', async () => (await version()) !== first);
  });
});

import assert from 'node:assert/strict';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { HOST_LEASE_RENEWAL_MS } from '../../../resources/streams/control-messages.ts';
import { quiesce } from '../../harness/eventually.ts';
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
    for (let turn = 0; turn < 3; turn++) {
      for (const { test } of [pair.a, pair.b]) await send(test.server.app, 'GET', HOSTS);
      await quiesce();
    }
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
    // The ping that finds the dead socket out comes later than the renewal.
    for (let gone = 0; gone < HOST_LEASE_RENEWAL_MS - 15_000; gone += 5_000) await clock.advance(5_000);
    await pair.connect(pair.a, { autoPong: false });
    await pair.connect(pair.b);
    const renewed = async () => (await pair.lease('host-mac-1')).spec?.renewTime;
    const first = await renewed();
    for (let gone = 0; gone < 18_000; gone += 1_000) {
      await clock.advance(1_000);
      await settled();
      assert.equal(await pair.holder(), 'b');
    }
    assert.notEqual(await renewed(), first);
    assert.ok(pair.a.test.server.hub.has('mac-1'), 'the dead socket is not there any more');
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
});

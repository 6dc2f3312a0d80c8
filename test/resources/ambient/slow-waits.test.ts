import assert from 'node:assert/strict';
import { SlowWaits } from '../../../resources/ambient/slow-waits.ts';
import { systemClock as clock } from '../../../resources/ambient/system-clock.ts';

const never = () => new Promise<never>(() => {});

describe('waits that are short as a rule', () => {
  it('end as what they wait for does, and ask nobody for a signal', async () => {
    const waits = new SlowWaits(clock);
    const caller = {
      get signal(): AbortSignal {
        throw new Error('asked for');
      },
    };
    assert.equal(await waits.unlessGone(Promise.resolve(1), caller), 1);
    await assert.rejects(waits.unlessGone(Promise.reject(new Error('no')), caller), /no/);
  });

  it('end with the reason of who goes away, and nobody else does', async () => {
    const waits = new SlowWaits(clock);
    const leaving = new AbortController();
    const staying = Promise.withResolvers<string>();
    const left = waits.unlessGone(never(), leaving);
    const stays = waits.unlessGone(staying.promise, new AbortController());
    await clock.sleep(1);
    leaving.abort(new Error('gone'));
    await assert.rejects(left, /gone/);
    staying.resolve('there');
    assert.equal(await stays, 'there');
  });

  it('end soon for who was never there', async () => {
    const waits = new SlowWaits(clock);
    await assert.rejects(waits.unlessGone(never(), { signal: AbortSignal.abort(new Error('before')) }), /before/);
  });
});

import assert from 'node:assert/strict';
import { UnreachableError } from '../../../../apiserver/client/unreachable-error.ts';
import { Arrivals } from '../../../../cli/serve/nodelet/arrivals.ts';
import { until } from '../../../harness/until.ts';

const signal = new AbortController().signal;

describe('hosts that come to their server', () => {
  it('do so a few at a time, the next when one is served or refused', async () => {
    const arrivals = new Arrivals();
    const asking: PromiseWithResolvers<void>[] = [];
    let most = 0;
    const ask = async () => {
      const mine = Promise.withResolvers<void>();
      asking.push(mine);
      most = Math.max(most, asking.length);
      await mine.promise;
    };
    let arrived = 0;
    const all = Array.from({ length: 100 }, () => arrivals.enter(ask, signal).then(() => arrived++));
    for (let i = 0; i < 100; i++) {
      await until('somebody asks', () => asking.length > 0);
      const [first] = asking.splice(0, 1);
      if (i % 2 === 0) first?.resolve();
      else first?.reject(new Error('refused'));
    }
    await Promise.all(all);
    assert.equal(arrived, 100);
    assert.ok(most > 1 && most <= 16, `${most} at once`);
  });

  it('wait for nobody where no server is to be reached', async () => {
    const arrivals = new Arrivals();
    let asked = 0;
    const ask = async () => {
      asked++;
      throw new UnreachableError('refused', 'https://a', 'nothing listens at https://a', { sent: false });
    };
    await Promise.all(Array.from({ length: 100 }, () => arrivals.enter(ask, signal)));
    assert.ok(asked <= 16, `${asked} asked`);
  });

  it('leave when they are told to', async () => {
    const arrivals = new Arrivals();
    const ending = new AbortController();
    const all = Array.from({ length: 20 }, () => arrivals.enter(() => new Promise(() => {}), ending.signal));
    ending.abort(new Error('over'));
    await assert.rejects(all.at(-1) ?? Promise.resolve(), /over/);
  });
});

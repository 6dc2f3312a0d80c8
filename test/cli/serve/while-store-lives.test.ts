import assert from 'node:assert/strict';
import { StoreError } from '../../../apiserver/store/store.ts';
import { whileStoreLives } from '../../../cli/serve/while-store-lives.ts';

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

const LOST = { name: 'Failure', message: 'the store is lost: gone', exitCode: 70 };

describe('what runs while the store lives', () => {
  const setUp = () => ({ ...Promise.withResolvers<StoreError>(), ending: new AbortController() });
  const gone = new StoreError('UnknownOutcome', 'the store is lost: gone');

  it('ends with exit code 70 when the store is lost', async () => {
    const { promise, resolve, ending } = setUp();
    let ended = false;
    const running = whileStoreLives(promise, ending.signal, async (signal) => {
      await untilAborted(signal);
      ended = true;
    });
    resolve(gone);
    await assert.rejects(running, LOST);
    assert.ok(ended);
  });

  it('ends so too when a request fails with the store, before it is known', async () => {
    const { promise, resolve, ending } = setUp();
    const running = whileStoreLives(promise, ending.signal, async () => {
      queueMicrotask(() => queueMicrotask(() => resolve(gone)));
      throw new Error('the outcome is not known');
    });
    await assert.rejects(running, LOST);
  });

  it('ends well on Ctrl-C, and with its own failure', async () => {
    const { promise, ending } = setUp();
    const running = whileStoreLives(promise, ending.signal, untilAborted);
    ending.abort();
    await running;
    const own = new Error('no');
    await assert.rejects(
      whileStoreLives(promise, new AbortController().signal, () => Promise.reject(own)),
      (error) => error === own,
    );
  });
});

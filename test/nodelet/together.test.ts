import assert from 'node:assert/strict';
import { together } from '../../nodelet/together.ts';

describe('together', () => {
  /** Ends a while after it was told to. */
  const part = (ended: string[], name: string) => async (signal: AbortSignal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.resolve();
    ended.push(name);
    signal.throwIfAborted();
  };

  it('ends all parts when the signal aborts, and waits for each', async () => {
    const ending = new AbortController();
    const ended: string[] = [];
    const all = together([part(ended, 'a'), part(ended, 'b')], ending.signal);
    ending.abort();
    await all;
    assert.deepEqual(ended, ['a', 'b']);
  });

  it('ends all parts when one fails, and rejects with that failure', async () => {
    const ended: string[] = [];
    const fails = () => Promise.reject(new Error('broken'));
    await assert.rejects(together([part(ended, 'a'), fails, part(ended, 'b')], new AbortController().signal), /broken/);
    assert.deepEqual(ended, ['a', 'b']);
  });

  it('resolves when every part has ended by itself', async () => {
    await together([async () => 1, async () => 2], new AbortController().signal);
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { WorkQueue } from '../../../controllers/runtime/queue.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';

const never = new AbortController().signal;

function aQueue() {
  const clock = new ManualClock();
  return { clock, queue: new WorkQueue({ clock, random: () => 0 }) };
}

describe('the work queue', () => {
  it('holds a key once however often it is added, in the order of first adding', async () => {
    const { queue } = aQueue();
    for (const key of ['b', 'a', 'b', 'b']) queue.add(key);
    assert.equal(queue.length, 2);
    assert.equal(await queue.take(never), 'b');
    assert.equal(await queue.take(never), 'a');
  });

  it('holds a key back while it is worked on, and gives it once more when it was added meanwhile', async () => {
    const { queue } = aQueue();
    queue.add('a');
    await queue.take(never);
    queue.add('a');
    queue.add('a');
    let second: string | undefined;
    const taken = queue.take(never).then((key) => {
      second = key;
    });
    await Promise.resolve();
    assert.equal(second, undefined);
    queue.done('a');
    await taken;
    assert.equal(second, 'a');
    queue.done('a');
    assert.equal(queue.length, 0);
  });

  it('lets the earliest of several delays win', async () => {
    const { clock, queue } = aQueue();
    queue.addAfter('a', 100);
    queue.addAfter('a', 10);
    queue.addAfter('a', 50);
    await clock.advance(9);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(queue.length, 1);
    assert.equal(clock.waiting, 0);
  });

  it('doubles the backoff of a key from 5 ms to a minute, and begins again after it went well', async () => {
    const { clock, queue } = aQueue();
    const waits: number[] = [];
    for (let round = 0; round < 16; round++) {
      const startedMs = clock.now();
      queue.addBackedOff('a');
      while (queue.length === 0) await clock.advance(1);
      waits.push(clock.now() - startedMs);
      queue.done(await queue.take(never));
    }
    assert.deepEqual(waits.slice(0, 5), [5, 10, 20, 40, 80]);
    assert.deepEqual(waits.slice(-2), [60_000, 60_000]);
    queue.forget('a');
    queue.addBackedOff('a');
    await clock.advance(5);
    assert.equal(queue.length, 1);
  }).timeout(20_000);

  it('spreads backoffs by up to a quarter', async () => {
    const clock = new ManualClock();
    const queue = new WorkQueue({ clock, random: () => 0.8 });
    queue.addBackedOff('a');
    await clock.advance(5);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(queue.length, 1);
  });

  it('rejects a taker whose signal aborts, and gives the key to the next', async () => {
    const { queue } = aQueue();
    const stop = new AbortController();
    const gone = queue.take(stop.signal);
    const stays = queue.take(never);
    stop.abort(new Error('stopped'));
    await assert.rejects(gone, /stopped/);
    queue.add('a');
    assert.equal(await stays, 'a');
  });

  it('forgets what was put off when it is disposed of', async () => {
    const { clock, queue } = aQueue();
    queue.addAfter('a', 10);
    queue[Symbol.dispose]();
    assert.equal(clock.waiting, 0);
  });

  it('never gives out a key that is being worked on, and loses none', async () => {
    const step = fc.oneof(
      fc.record({ add: fc.constantFrom('a', 'b', 'c') }),
      fc.constant('take' as const),
      fc.constant('done' as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { queue } = aQueue();
        const running: string[] = [];
        const owed = new Set<string>();
        for (const next of steps) {
          if (next === 'take') {
            if (![...owed].some((key) => !running.includes(key))) continue;
            const key = await queue.take(never);
            assert.ok(!running.includes(key), `${key} was given twice`);
            owed.delete(key);
            running.push(key);
          } else if (next === 'done') {
            const key = running.shift();
            if (key !== undefined) queue.done(key);
          } else {
            owed.add(next.add);
            queue.add(next.add);
          }
          assert.equal(queue.length, owed.size);
        }
      }),
    );
  });
});

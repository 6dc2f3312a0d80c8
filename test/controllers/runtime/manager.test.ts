import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers';
import type { Duty, Enqueue, Outcome } from '../../../controllers/runtime/duty.ts';
import { Manager } from '../../../controllers/runtime/manager.ts';
import { type Logger, silentLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { eventually, quiesce } from '../../harness/eventually.ts';

function aSetup(reconcile: Duty['reconcile'], more: Partial<Duty> = {}) {
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const log: Logger = {
    ...silentLogger,
    error: (message, fields) => errors.push({ message, ...fields }),
    child: () => log,
  };
  let enqueue: Enqueue = () => {};
  const synced = Promise.withResolvers<void>();
  const manager = new Manager({ clock, random: () => 0, log });
  const duty: Duty = {
    name: 'test',
    workers: 2,
    reconcile,
    watches: [
      {
        start(given) {
          enqueue = given;
          return () => {
            enqueue = () => {};
          };
        },
        whenSynced: (signal) =>
          Promise.race([
            synced.promise,
            new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          ]),
      },
    ],
    ...more,
  };
  manager.start(duty);
  return { clock, errors, manager, synced: () => synced.resolve(), add: (key: string) => enqueue(key) };
}

describe('the manager', () => {
  it('looks at nothing before the caches are whole', async () => {
    const seen: string[] = [];
    const it = aSetup(async (key) => {
      seen.push(key);
      return {};
    });
    await using _ = it.manager;
    it.add('a');
    await quiesce();
    assert.deepEqual([seen, it.manager.health.test?.state], [[], 'waiting for caches']);
    it.synced();
    await quiesce();
    assert.deepEqual([seen, it.manager.health.test?.state], [['a'], 'running']);
  });

  it('comes back to a key that failed, logs it once a failure with its key, and shows it', async () => {
    let tries = 0;
    const it = aSetup(async () => {
      if (++tries < 3) throw new Error('broken');
      return {};
    });
    await using _ = it.manager;
    it.synced();
    it.add('a');
    await eventually(it.clock, 'three tries', () => tries === 3);
    assert.deepEqual(it.errors, [
      { message: 'reconcile failed', key: 'a', error: 'broken', failures: 1 },
      { message: 'reconcile failed', key: 'a', error: 'broken', failures: 2 },
    ]);
    assert.equal(it.manager.health.test?.lastError?.key, 'a');
  });

  it('takes a conflict for ordinary: it comes back and says nothing', async () => {
    let tries = 0;
    const it = aSetup(async () => {
      if (++tries === 1) throw new ApiError('Conflict', 'modified');
      return {};
    });
    await using _ = it.manager;
    it.synced();
    it.add('a');
    await eventually(it.clock, 'two tries', () => tries === 2);
    assert.deepEqual(it.errors, []);
  });

  it('comes back when it is told to, at the time or with growing waits', async () => {
    const outcomes: Outcome[] = [{ requeueAfterMs: 500 }, { again: true }, { again: true }, {}];
    const at: number[] = [];
    const it = aSetup(async () => {
      at.push(it.clock.now() - Date.UTC(2026, 0, 1));
      return outcomes.shift() ?? assert.fail();
    });
    await using _ = it.manager;
    it.synced();
    it.add('a');
    await quiesce();
    for (let ms = 0; ms < 600; ms++) {
      await it.clock.advance(1);
      await quiesce();
    }
    assert.deepEqual([at, it.errors], [[0, 500, 505, 515], []]);
  });

  it('gives up a look that is stuck, and goes on with other keys meanwhile', async () => {
    const seen: string[] = [];
    const it = aSetup(
      (key, signal) => {
        seen.push(key);
        if (key !== 'stuck') return Promise.resolve({});
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      { deadlineMs: 1_000 },
    );
    await using _ = it.manager;
    it.synced();
    it.add('stuck');
    it.add('fine');
    await quiesce();
    assert.deepEqual([seen, it.errors], [['stuck', 'fine'], []]);
    await it.clock.advance(1_000);
    await quiesce();
    assert.match(it.manager.health.test?.lastError?.message ?? '', /not done after 1 s/);
  });

  it('stops: aborts what runs, waits for it, and wakes for nothing any more', async () => {
    let letGo = false;
    const it = aSetup(
      (_, signal) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            // Letting go takes a while.
            setImmediate(() => {
              letGo = true;
              reject(signal.reason);
            });
          }),
        ),
    );
    it.synced();
    it.add('a');
    await quiesce();
    await it.manager[Symbol.asyncDispose]();
    assert.equal(letGo, true);
    assert.deepEqual([it.manager.health.test?.state, it.errors, it.clock.waiting], ['stopped', [], 0]);
  });

  it('stops while it still waits for caches', async () => {
    const it = aSetup(async () => ({}));
    await it.manager[Symbol.asyncDispose]();
    assert.equal(it.manager.health.test?.state, 'stopped');
  });
});

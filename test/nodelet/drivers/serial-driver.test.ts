import assert from 'node:assert/strict';
import { ChangeFeed } from '../../../nodelet/drivers/change-feed.ts';
import type { Driver, GuestSpec, LogOptions } from '../../../nodelet/drivers/driver.ts';
import { Semaphore } from '../../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../../nodelet/drivers/serial-driver.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';

/** A driver whose operations end when told, and that tells which run. */
class HeldDriver implements Driver {
  readonly name = 'sim';
  readonly capabilities = {
    version: 'held',
    accelerator: 'simulated',
    guestOS: ['linux'],
    pause: true,
    exec: true,
  } as const;
  readonly running: { readonly what: string; readonly end: (error?: Error) => void; readonly signal: AbortSignal }[] =
    [];
  disposals = 0;

  #hold(what: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const one = {
        what,
        signal,
        end: (error?: Error) => {
          this.running.splice(this.running.indexOf(one), 1);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.running.push(one);
    });
  }
  names(): string[] {
    return this.running.map((r) => r.what);
  }
  end(what: string, error?: Error): void {
    const one = this.running.find((r) => r.what === what);
    assert.ok(one, `${what} runs`);
    one.end(error);
  }
  create = (spec: GuestSpec, signal: AbortSignal) => this.#hold(`create ${spec.id}`, signal);
  start = (id: string, signal: AbortSignal) => this.#hold(`start ${id}`, signal);
  stop = (id: string, _: { readonly graceMs: number }, signal: AbortSignal) => this.#hold(`stop ${id}`, signal);
  pause = (id: string, signal: AbortSignal) => this.#hold(`pause ${id}`, signal);
  resume = (id: string, signal: AbortSignal) => this.#hold(`resume ${id}`, signal);
  remove = (id: string, signal: AbortSignal) => this.#hold(`remove ${id}`, signal);
  clear = async (signal: AbortSignal) => {
    await this.#hold('clear', signal);
    return 3;
  };
  async volumes() {
    return [];
  }
  keepVolume = ({ id }: { readonly id: string }, signal: AbortSignal) => this.#hold(`keep volume ${id}`, signal);
  removeVolume = (id: string, signal: AbortSignal) => this.#hold(`remove volume ${id}`, signal);
  async capacity() {
    return { vcpus: 1, memoryBytes: 1, diskBytes: 1 };
  }
  async list() {
    return [];
  }
  async leakedSlots() {
    return 0;
  }
  changes = (signal: AbortSignal) => new ChangeFeed().read(signal);
  async exec(): Promise<never> {
    throw new Error('nothing runs here');
  }
  async *logs(_id: string, _options: LogOptions) {}
  async image() {
    return undefined;
  }
  async [Symbol.asyncDispose]() {
    this.disposals += 1;
  }
}

const settle = async () => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

describe('the serial driver', () => {
  const { signal } = new AbortController();
  let inner: HeldDriver;
  let clock: ManualClock;
  let driver: SerialDriver;
  beforeEach(() => {
    inner = new HeldDriver();
    clock = new ManualClock();
    driver = new SerialDriver(inner, { clock, coldStarts: new Semaphore(2), deadlines: { pause: 1000 } });
  });

  it('runs operations on one guest one by one, on others beside them', async () => {
    const all = [driver.stop('a', { graceMs: 0 }, signal), driver.pause('a', signal), driver.pause('b', signal)];
    await settle();
    assert.deepEqual(inner.names(), ['stop a', 'pause b']);
    inner.end('stop a');
    await settle();
    assert.deepEqual(inner.names(), ['pause b', 'pause a']);
    inner.end('pause a');
    inner.end('pause b');
    await Promise.all(all);
  });

  it('goes on after an operation that failed', async () => {
    const first = driver.pause('a', signal);
    const second = driver.resume('a', signal);
    await settle();
    inner.end('pause a', new Error('no'));
    await assert.rejects(first, /no/);
    await settle();
    inner.end('resume a');
    await second;
  });

  it('starts no more guests at once than there are places', async () => {
    const all = ['a', 'b', 'c'].map((id) => driver.start(id, signal));
    await settle();
    assert.deepEqual(inner.names(), ['start a', 'start b']);
    inner.end('start a');
    await settle();
    assert.deepEqual(inner.names(), ['start b', 'start c']);
    inner.end('start b');
    inner.end('start c');
    await Promise.all(all);
  });

  it('answers a late operation with its deadline, and keeps the guest until it has really ended', async () => {
    const late = driver.pause('a', signal);
    const next = driver.resume('a', signal);
    await settle();
    const held = inner.running[0];
    const answered = assert.rejects(late, { reason: 'Failed', message: 'pause of guest a did not finish within 1 s' });
    await clock.advance(1000);
    await answered;
    assert.equal(held?.signal.aborted, true);
    await settle();
    assert.deepEqual(inner.names(), ['pause a']);
    inner.end('pause a');
    await settle();
    assert.deepEqual(inner.names(), ['resume a']);
    inner.end('resume a');
    await next;
    assert.equal(clock.waiting, 0);
  });

  it('lets nobody overtake when one in the queue leaves', async () => {
    const leaving = new AbortController();
    const first = driver.pause('a', signal);
    const second = driver.resume('a', leaving.signal);
    const third = driver.remove('a', signal);
    await settle();
    leaving.abort(new Error('left'));
    await assert.rejects(second, /left/);
    await settle();
    assert.deepEqual(inner.names(), ['pause a']);
    inner.end('pause a');
    await settle();
    assert.deepEqual(inner.names(), ['remove a']);
    inner.end('remove a');
    await Promise.all([first, third]);
  });

  it('gives the turn back when a start leaves while it waits for a place', async () => {
    const others = [driver.start('x', signal), driver.start('y', signal)];
    const leaving = new AbortController();
    const start = driver.start('a', leaving.signal);
    await settle();
    leaving.abort(new Error('left'));
    await assert.rejects(start, /left/);
    const remove = driver.remove('a', signal);
    await settle();
    inner.end('remove a');
    await remove;
    inner.end('start x');
    inner.end('start y');
    await Promise.all(others);
  });

  it('bounds the queue of a guest', async () => {
    const all = Array.from({ length: 40 }, () => driver.pause('a', signal));
    const outcomes = Promise.allSettled(all);
    for (let i = 0; i < 32; i++) {
      await settle();
      inner.end('pause a');
    }
    assert.equal((await outcomes).filter((o) => o.status === 'rejected').length, 8);
  });

  it('ends once: aborts what runs, waits for it, detaches the inner driver, refuses what comes later', async () => {
    const running = driver.pause('a', signal);
    await settle();
    const held = inner.running[0];
    const closing = [driver[Symbol.asyncDispose](), driver[Symbol.asyncDispose]()];
    await assert.rejects(running, /driver is closed/);
    assert.equal(held?.signal.aborted, true);
    await settle();
    assert.equal(inner.disposals, 0);
    held?.end();
    await Promise.all(closing);
    assert.equal(inner.disposals, 1);
    await assert.rejects(driver.pause('a', signal), /driver is closed/);
  });
});

describe('the change feed', () => {
  it('gives a slow reader each id once, and ends with the signal', async () => {
    const feed = new ChangeFeed();
    const ended = new AbortController();
    const reader = feed.read(ended.signal);
    for (const id of ['a', 'b', 'a', 'a']) feed.emit(id);
    const seen: string[] = [];
    for await (const id of reader) {
      seen.push(id);
      if (seen.length === 2) {
        feed.emit('c');
      }
      if (id === 'c') ended.abort();
    }
    assert.deepEqual(seen, ['a', 'b', 'c']);
  });
});

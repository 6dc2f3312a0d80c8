import assert from 'node:assert/strict';
import type { ApiRequest } from '../../../../../apiserver/client/transport.ts';
import { Semaphore } from '../../../../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../../../../nodelet/drivers/serial-driver.ts';
import type { Fault } from '../../../../../nodelet/drivers/sim/faults/fault.ts';
import { HostFaults } from '../../../../../nodelet/drivers/sim/faults/host-faults.ts';
import { HostLives } from '../../../../../nodelet/drivers/sim/faults/host-lives.ts';
import { SimDriver } from '../../../../../nodelet/drivers/sim/sim-driver.ts';
import type { Outside } from '../../../../../nodelet/outside.ts';
import { silentLogger } from '../../../../../resources/ambient/log.ts';
import { ManualClock } from '../../../../../resources/ambient/manual-clock.ts';
import { eventually } from '../../eventually.ts';
import { memorySimHost } from '../memory-sim-host.ts';

describe('the lives of a nodelet', () => {
  let clock: ManualClock;
  let faults: HostFaults;
  let events: string[];
  let lives: HostLives;
  let ending: AbortController;

  beforeEach(() => {
    clock = new ManualClock();
    events = [];
    ending = new AbortController();
    faults = new HostFaults({ host: 'mac-1', faults: [], seed: 1, clock, log: silentLogger });
    const capacity = { vcpus: 1, memoryBytes: 1, diskBytes: 1 };
    lives = new HostLives({
      host: 'mac-1',
      faults,
      clock,
      onCrash: () => events.push('killed'),
      async openDriver(reach) {
        events.push('opened');
        const inner = new SimDriver({ host: memorySimHost(), capacity, clock, faults, reach });
        const driver = new SerialDriver(inner, { clock, coldStarts: new Semaphore(1) });
        const dispose = driver[Symbol.asyncDispose].bind(driver);
        driver[Symbol.asyncDispose] = async () => {
          events.push('closed');
          await dispose();
        };
        return driver;
      },
    });
  });
  afterEach(() => {
    ending.abort();
    faults[Symbol.dispose]();
  });

  const crash = (more: Partial<Extract<Fault, { fault: 'NodeletCrash' }>> = {}) =>
    faults.add([{ fault: 'NodeletCrash', ...more }]);
  const untilAborted = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  const request = (method: string): ApiRequest => ({
    method,
    path: '/apis/coppice.dev/v1/namespaces/demo/vms/a/status',
  });

  it('end with the signal, and with what a nodelet fails of', async () => {
    const running = lives.run((_, signal) => untilAborted(signal), ending.signal);
    await eventually('it runs', () => events.includes('opened'));
    ending.abort();
    await running;
    assert.deepEqual(events, ['opened', 'closed']);
    await assert.rejects(
      lives.run(async () => {
        throw new Error('no disk');
      }, new AbortController().signal),
      /no disk/,
    );
  });

  it('are over at the crash, before anything is put in order, and another begins after a while', async () => {
    const running = lives.run(async (_, signal) => {
      await untilAborted(signal);
      events.push('ended');
    }, ending.signal);
    await eventually('it runs', () => events.includes('opened'));
    crash({ for: '5s' });
    await eventually('it is over', () => events.includes('closed'));
    assert.deepEqual(events, ['opened', 'killed', 'ended', 'closed']);
    await clock.advance(4_999);
    assert.equal(events.length, 4);
    await clock.advance(1);
    await eventually('it runs again', () => events.length === 5);
    ending.abort();
    await running;
    assert.deepEqual(events.slice(4), ['opened', 'ended', 'closed']);
  });

  it('send nothing any more once they are over', async () => {
    const dead: Outside[] = [];
    const running = lives.run(async (outside, signal) => {
      dead.push(outside);
      await untilAborted(signal);
    }, ending.signal);
    await eventually('it runs', () => dead.length === 1);
    crash();
    await eventually('another runs', () => dead.length === 2);
    const [first] = dead;
    const send = first?.transport(async () => assert.fail('sent'));
    await assert.rejects(async () => send?.(request('GET')), { name: 'NodeletCrashed' });
    await assert.rejects(async () => first?.ask(async () => assert.fail('asked'), ending.signal), {
      name: 'NodeletCrashed',
    });
    await assert.rejects(async () => first?.open({ url: 'http://127.0.0.1:1' }, '/control', 'p', ending.signal), {
      name: 'NodeletCrashed',
    });
    ending.abort();
    await running;
  });

  for (const [step, sent] of [
    ['BeforeWrite', 0],
    ['AfterWrite', 1],
  ] as const) {
    it(`that end ${step} have sent it ${sent} times, and never hear of it`, async () => {
      crash({ step, vms: ['demo/a'] });
      let writes = 0;
      let reads = 0;
      const outcomes: string[] = [];
      const running = lives.run(async (outside, signal) => {
        const send = outside.transport(async ({ method }) => {
          if (method === 'GET') reads += 1;
          else writes += 1;
          return { status: 200, headers: {}, body: (async function* () {})() };
        });
        await send(request('GET'));
        outcomes.push(await send(request('PATCH')).then(String, (error: Error) => error.name));
        await untilAborted(signal);
      }, ending.signal);
      await eventually('both were tried', () => outcomes.length === 2);
      assert.deepEqual([outcomes[0], writes, reads], ['NodeletCrashed', sent + 1, 2]);
      ending.abort();
      await running;
    });
  }
});

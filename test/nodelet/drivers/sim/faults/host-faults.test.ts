import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Fault } from '../../../../../nodelet/drivers/sim/faults/fault.ts';
import { HostFaults } from '../../../../../nodelet/drivers/sim/faults/host-faults.ts';
import type { Clock } from '../../../../../resources/ambient/clock.ts';
import { lineLogger, silentLogger } from '../../../../../resources/ambient/log.ts';
import { ManualClock } from '../../../../../resources/ambient/manual-clock.ts';

const MINUTE = 60_000;

/** Faults of one host on a clock of their own, and what they log, each line with its second. */
function faultsOf(faults: readonly Fault[], { seed = 1, host = 'mac-1' } = {}) {
  const clock = new ManualClock(0);
  const lines: string[] = [];
  const log = lineLogger(
    (line) => lines.push(`${clock.monotonic() / 1000}s ${line.split(' ').slice(2).join(' ')}`),
    () => clock.now(),
  );
  return { clock, lines, faults: new HostFaults({ host, faults, seed, clock, log }) };
}

describe('the faults of a host', () => {
  describe('that come by the clock', () => {
    it('begin and end when they should, without anybody asking, and are told once', async () => {
      const { clock, lines, faults } = faultsOf([{ fault: 'Partition', after: '10s', for: '20s' }]);
      await clock.advance(9_999);
      assert.equal(faults.cutOff, false);
      await clock.advance(1);
      assert.equal(faults.cutOff, true);
      await clock.advance(19_999);
      assert.equal(faults.cutOff, true);
      await clock.advance(1);
      assert.equal(faults.cutOff, false);
      await clock.advance(60 * MINUTE);
      assert.deepEqual(lines, ['10s fault fault=Partition lastsMs=20000', '30s fault over fault=Partition']);
      assert.equal(clock.waiting, 0);
    });

    it('are there from the start, and to the end, where nothing else is said', async () => {
      const { clock, faults } = faultsOf([{ fault: 'DiskFull' }]);
      assert.equal(faults.diskFull, true);
      assert.equal(clock.waiting, 0);
      await clock.advance(1_000 * MINUTE);
      assert.equal(faults.diskFull, true);
    });

    it('come again and again, with a rest between, as often as is said', async () => {
      const { clock, lines } = faultsOf([{ fault: 'LostHeartbeat', every: '10s', for: '5s', times: 2 }]);
      await clock.advance(10 * MINUTE);
      const said = lines.map((line) => line.replace(' fault=LostHeartbeat', ''));
      assert.deepEqual(said, ['10s fault lastsMs=5000', '15s fault over', '25s fault lastsMs=5000', '30s fault over']);
      assert.equal(clock.waiting, 0);
    });

    it('step the clock, for a time or for good, and again each time', async () => {
      const { clock, faults } = faultsOf([
        { fault: 'ClockStep', by: '+1m', every: '10s', times: 3 },
        { fault: 'ClockStep', by: '-1h', after: '25s', for: '10s' },
      ]);
      const seen: number[] = [];
      for (let i = 0; i < 5; i++) {
        seen.push(faults.clockMs / MINUTE);
        await clock.advance(10_000);
      }
      assert.deepEqual(seen, [0, 1, 2, 3 - 60, 3]);
    });

    it('tell that the nodelet is to die, and for how long', async () => {
      const { clock, faults } = faultsOf([{ fault: 'NodeletCrash', after: '10s', every: '1m', for: '2s', times: 2 }]);
      const deaths: number[][] = [];
      faults.onCrash((downMs) => deaths.push([clock.monotonic(), downMs]));
      await clock.advance(10 * MINUTE);
      assert.deepEqual(deaths, [
        [10_000, 2_000],
        [72_000, 2_000],
      ]);
    });

    it('happen or not by their probability', async () => {
      const count = async (probability: number) => {
        const { clock, lines } = faultsOf([{ fault: 'NodeletCrash', every: '1s', probability }]);
        await clock.advance(1_000_000);
        return lines.length;
      };
      assert.equal(await count(0), 0);
      assert.equal(await count(1), 1000);
      const some = await count(0.25);
      assert.ok(some > 190 && some < 310, `${some}`);
    });

    it('are as up to date as the clock, though their timer is late', async () => {
      const clock = new ManualClock(0);
      const late: Clock = {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        sleep: (ms, signal) => clock.sleep(ms, signal),
        after: () => () => {},
      };
      const faults: readonly Fault[] = [{ fault: 'Partition', after: '10s', for: '10s' }];
      const slow = new HostFaults({ host: 'mac-1', faults, seed: 1, clock: late, log: silentLogger });
      await clock.advance(10_000);
      assert.equal(slow.cutOff, true);
      await clock.advance(10_000);
      assert.equal(slow.cutOff, false);
    });
  });

  describe('that wait for an operation', () => {
    it('fail the next ones, those that they are for', () => {
      const { faults, lines } = faultsOf([{ fault: 'FailedOperation', vms: ['demo/*'], times: 2 }]);
      const starts = ['demo/a', 'prod/a', 'demo/b', 'demo/c'].map((vm) => faults.fails('Start', vm));
      assert.deepEqual(starts, [true, false, true, false]);
      assert.equal(faults.fails('Stop', 'demo/a'), false);
      assert.deepEqual(lines, [
        '0s fault fault=FailedOperation operation=Start vm=demo/a',
        '0s fault fault=FailedOperation operation=Start vm=demo/b',
      ]);
    });

    it('strike once where nothing else is said, and let pass first what is to be skipped', () => {
      const { faults } = faultsOf([{ fault: 'FailedOperation', operation: 'Stop', skip: 2 }]);
      const stops = Array.from({ length: 6 }, () => faults.fails('Stop', 'demo/a'));
      assert.deepEqual(stops, [false, false, true, false, false, false]);
    });

    it('strike while they last', async () => {
      const { clock, faults } = faultsOf([{ fault: 'FailedOperation', operation: 'List', after: '10s', for: '10s' }]);
      const seen: boolean[] = [];
      for (let i = 0; i < 5; i++) {
        seen.push(faults.fails('List'));
        await clock.advance(5_000);
      }
      assert.deepEqual(seen, [false, false, true, true, false]);
    });

    it('strike no sooner again than is said', async () => {
      const { clock, faults } = faultsOf([{ fault: 'FailedOperation', every: '10s' }]);
      const seen: number[] = [];
      for (let second = 0; second < 35; second++) {
        if (faults.fails('Start', 'demo/a')) seen.push(second);
        await clock.advance(1_000);
      }
      assert.deepEqual(seen, [10, 20, 30]);
    });

    it('slow every one of them, by a time of a range', () => {
      const { faults } = faultsOf([{ fault: 'SlowOperation', takes: '1s..3s' }]);
      const times = Array.from({ length: 200 }, () => faults.takesMs('Start', 'demo/a') ?? 0);
      assert.ok(times.every((ms) => ms >= 1_000 && ms <= 3_000));
      assert.ok(Math.min(...times) < 1_100 && Math.max(...times) > 2_900);
      assert.equal(faults.takesMs('Stop', 'demo/a'), undefined);
    });

    it('kill the nodelet at the step they name, or at any', () => {
      const at = faultsOf([{ fault: 'NodeletCrash', step: 'AfterStart', for: '3s' }]).faults;
      assert.deepEqual(
        [
          at.crashesAt('BeforeStart', 'demo/a'),
          at.crashesAt('AfterStart', 'demo/a'),
          at.crashesAt('AfterStart', 'demo/a'),
        ],
        [undefined, 3_000, undefined],
      );
      const any = faultsOf([{ fault: 'NodeletCrash', step: 'Any', vms: ['demo/b'], skip: 1 }]).faults;
      assert.deepEqual(
        [any.crashesAt('BeforeWrite'), any.crashesAt('BeforeStop', 'demo/b'), any.crashesAt('AfterStop', 'demo/b')],
        [undefined, undefined, 0],
      );
    });
  });

  describe('that wait for a guest', () => {
    const on = (label: string, ageMs: number) => ({ id: `uid-${label}`, label, ageMs });
    const names = (ends: ReturnType<HostFaults['takeEnds']>) =>
      ends.map(({ fault, guest }) => `${fault.fault} ${guest.label}`);

    it('end each once it has run long enough, and again after it was started anew', () => {
      const { faults } = faultsOf([{ fault: 'CrashedGuest', running: '10s', times: 9 }]);
      assert.deepEqual(names(faults.takeEnds([on('a/a', 9_999), on('a/b', 0)])), []);
      assert.equal(faults.waitForEndMs([on('a/a', 9_999), on('a/b', 0)]), 1);
      assert.deepEqual(names(faults.takeEnds([on('a/a', 10_000), on('a/b', 1)])), ['CrashedGuest a/a']);
      assert.equal(faults.waitForEndMs([on('a/a', 10_000), on('a/b', 1)]), 9_999);
      assert.deepEqual(names(faults.takeEnds([on('a/a', 20_000), on('a/b', 2)])), []);
      assert.deepEqual(names(faults.takeEnds([on('a/a', 5), on('a/b', 3)])), []);
      assert.deepEqual(names(faults.takeEnds([on('a/a', 10_000)])), ['CrashedGuest a/a']);
    });

    it('end one of them each time, not always the same', async () => {
      const { clock, faults } = faultsOf([{ fault: 'LostGuest', every: '10s', vms: ['demo/*'] }]);
      const guests = [on('demo/a', 1), on('demo/b', 1), on('other/c', 1)];
      const lost: string[] = [];
      for (let second = 0; second < 400; second++) {
        lost.push(...names(faults.takeEnds(guests)));
        await clock.advance(1_000);
      }
      assert.equal(lost.length, 39);
      assert.deepEqual([...new Set(lost)].sort(), ['LostGuest demo/a', 'LostGuest demo/b']);
    });

    it('keep the slot of a macOS guest that went off, for a time', async () => {
      const { clock, faults } = faultsOf([{ fault: 'LeakedSlot', vms: ['demo/*'], for: '1m' }]);
      let told = 0;
      faults.onChange(() => told++);
      faults.slotFreed('uid-x', 'other/x');
      faults.slotFreed('uid-a', 'demo/a');
      faults.slotFreed('uid-b', 'demo/b');
      assert.deepEqual(faults.leaks, ['uid-a']);
      await clock.advance(MINUTE);
      assert.deepEqual(faults.leaks, []);
      assert.equal(told, 2);
    });
  });

  it('are for the hosts that they name', () => {
    const mine = (host: string, hosts: string[]) => faultsOf([{ fault: 'DiskFull', hosts }], { host }).faults.diskFull;
    assert.equal(mine('mac-1', ['mac-2', 'mac-3']), false);
    assert.equal(mine('mac-3', ['mac-2', 'mac-3']), true);
    assert.equal(mine('mac-12', ['mac-1*']), true);
    assert.equal(mine('mac-2', ['*']), true);
  });

  it('end when they are healed, but for what the clock shows', async () => {
    const { clock, faults } = faultsOf([
      { fault: 'Partition' },
      { fault: 'ClockStep', by: '1h' },
      { fault: 'LeakedSlot' },
      { fault: 'FailedOperation', times: 9 },
      { fault: 'LostGuest', every: '1s' },
    ]);
    faults.slotFreed('uid-a', 'demo/a');
    faults.heal();
    assert.deepEqual([faults.cutOff, faults.clockMs, faults.leaks], [false, 60 * MINUTE, []]);
    assert.equal(faults.fails('Start', 'demo/a'), false);
    assert.equal(faults.waitForEndMs([{ id: 'a', label: 'demo/a', ageMs: 1 }]), Number.POSITIVE_INFINITY);
    await clock.advance(10 * MINUTE);
    assert.equal(clock.waiting, 0);
  });

  it('set no timer any more once they are disposed of', () => {
    const { clock, faults } = faultsOf([{ fault: 'Partition', after: '1m' }]);
    assert.equal(clock.waiting, 1);
    faults[Symbol.dispose]();
    assert.equal(clock.waiting, 0);
  });

  describe('left to chance', () => {
    const LIKELY: readonly Fault[] = [
      { fault: 'FailedOperation', probability: 0.5 },
      { fault: 'Partition', every: '1s..60s', for: '1s..5s', probability: 0.8 },
      { fault: 'NodeletCrash', every: '10s..20s' },
    ];
    const course = async (seed: number, host = 'mac-1') => {
      const { clock, lines, faults } = faultsOf(LIKELY, { seed, host });
      for (let i = 0; i < 100; i++) {
        faults.fails('Start', `demo/${i}`);
        await clock.advance(3_000);
      }
      return lines;
    };

    it('take the same course with the same seed, another with another, and their own on each host', async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat(1_000_000), async (seed) => {
          const first = await course(seed);
          assert.ok(first.length > 50);
          assert.deepEqual(await course(seed), first);
          assert.notDeepEqual(await course(seed + 1), first);
          assert.notDeepEqual(await course(seed, 'mac-2'), first);
        }),
        { numRuns: 10 },
      );
    });

    it('do not depend on what else is in the file for other hosts, nor on when they are asked', async () => {
      const only = faultsOf([{ fault: 'DiskFull', hosts: ['mac-9'] }, ...LIKELY.slice(1)]);
      const asked = faultsOf([{ fault: 'FailedOperation', probability: 0.5 }, ...LIKELY.slice(1)]);
      let cut = 0;
      for (let i = 0; i < 300; i++) {
        for (let j = 0; j < i % 5; j++) asked.faults.fails('Start', 'demo/a');
        await only.clock.advance(1_000);
        await asked.clock.advance(1_000);
        assert.equal(only.faults.cutOff, asked.faults.cutOff);
        if (only.faults.cutOff) cut += 1;
      }
      assert.ok(cut > 5 && cut < 200, `${cut}`);
    });
  });
});

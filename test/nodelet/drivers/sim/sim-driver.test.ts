import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { GuestSpec } from '../../../../nodelet/drivers/driver.ts';
import type { Fault } from '../../../../nodelet/drivers/sim/faults/fault.ts';
import { HostFaults } from '../../../../nodelet/drivers/sim/faults/host-faults.ts';
import { SimDriver } from '../../../../nodelet/drivers/sim/sim-driver.ts';
import { SimGuestsFile } from '../../../../nodelet/drivers/sim/sim-guests-file.ts';
import { silentLogger } from '../../../../resources/ambient/log.ts';
import { ManualClock } from '../../../../resources/ambient/manual-clock.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { eventually } from '../eventually.ts';

const GIB = 1024 ** 3;
const { signal } = new AbortController();

describe('a simulated host', () => {
  let root: string;
  let clock: ManualClock;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'coppice-sim-'));
    clock = new ManualClock();
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const open = async (faults: readonly Fault[] = [], file = 'guests.json') => {
    // The file takes as long as the disk does, however fast the clock goes meanwhile.
    const guests = await SimGuestsFile.open(join(root, file), systemClock);
    return new SimDriver({
      host: guests.host('mac-1'),
      capacity: { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 100 * GIB },
      clock,
      faults: new HostFaults({ host: 'mac-1', faults, seed: 1, clock, log: silentLogger }),
    });
  };
  const create = async (driver: SimDriver, id: string, changes: Partial<GuestSpec> = {}) => {
    const image = await driver.image('img');
    const spec: GuestSpec = {
      id,
      label: `demo/${id}`,
      hostname: id,
      guestOS: 'linux',
      image: { path: 'img', digest: image?.digest ?? '' },
      vcpus: 1,
      memoryBytes: GIB,
      diskBytes: 0,
      epoch: 1,
      ...changes,
    };
    await driver.create(spec, signal);
  };
  const start = async (driver: SimDriver, id: string) => {
    let settled = false;
    const done = driver.start(id, signal).finally(() => {
      settled = true;
    });
    done.catch(() => {});
    await eventually('the start is settled', async () => {
      await clock.advance(250);
      return settled;
    });
    await done;
  };
  const powers = async (driver: SimDriver) =>
    Object.fromEntries((await driver.list(signal)).map((g) => [g.id, g.power]));

  it('takes 300 ms to start Linux and a second to start macOS, and no timer while nothing is asked', async () => {
    const driver = await open();
    await create(driver, 'linux');
    await create(driver, 'mac', { guestOS: 'macos' });
    const both = [driver.start('linux', signal), driver.start('mac', signal)];
    await eventually('both starts wait', () => clock.waiting === 2);
    await clock.advance(299);
    assert.deepEqual(await powers(driver), { linux: 'Starting', mac: 'Starting' });
    await clock.advance(1);
    assert.deepEqual(await powers(driver), { linux: 'Running', mac: 'Starting' });
    await clock.advance(700);
    assert.deepEqual(await powers(driver), { linux: 'Running', mac: 'Running' });
    await Promise.all(both);
    assert.equal(clock.waiting, 0);
  });

  it('refuses a third running macOS guest, and a second beside a leaked slot', async () => {
    const driver = await open();
    for (const id of ['a', 'b', 'c']) await create(driver, id, { guestOS: 'macos' });
    await start(driver, 'a');
    await start(driver, 'b');
    await assert.rejects(driver.start('c', signal), {
      reason: 'InUse',
      message: 'all 2 macOS slots are taken: 2 by guests, 0 leaked',
    });
    await driver.inject([{ fault: 'LeakedSlot', for: '1m' }]);
    await driver.stop('a', { graceMs: 0 }, signal);
    assert.equal(await driver.leakedSlots(), 1);
    await assert.rejects(driver.start('c', signal), {
      reason: 'InUse',
      message: 'all 2 macOS slots are taken: 1 by guests, 1 leaked',
    });
    await clock.advance(60_000);
    assert.equal(await driver.leakedSlots(), 0);
    await start(driver, 'c');
  });

  it('refuses more memory than is free, with the numbers', async () => {
    const driver = await open();
    await create(driver, 'a', { memoryBytes: 10 * GIB });
    await create(driver, 'b', { memoryBytes: 7 * GIB });
    await start(driver, 'a');
    await assert.rejects(driver.start('b', signal), {
      reason: 'Failed',
      message: `needs ${7 * GIB} bytes of memory; ${6 * GIB} of ${16 * GIB} are free`,
    });
  });

  it('fails the next starts as told, says so on the guest, and then starts', async () => {
    const driver = await open([{ fault: 'FailedOperation', times: 1 }]);
    await create(driver, 'a');
    await assert.rejects(driver.start('a', signal), { reason: 'Failed' });
    assert.equal((await driver.list(signal))[0]?.stopReason, 'StartFailed');
    await start(driver, 'a');
    assert.equal((await driver.list(signal))[0]?.stopReason, undefined);
  });

  it('loses a guest without a trace, and crashes one with a reason', async () => {
    const driver = await open([
      { fault: 'LostGuest', vms: ['demo/a'], running: '10s' },
      { fault: 'CrashedGuest', vms: ['*/b'], running: '20s' },
    ]);
    await create(driver, 'a');
    await create(driver, 'b');
    await start(driver, 'a');
    await start(driver, 'b');
    assert.deepEqual(await powers(driver), { a: 'Running', b: 'Running' });
    await clock.advance(10_000);
    await eventually('a is gone', async () => isDeepStrictEqual(await powers(driver), { b: 'Running' }));
    await clock.advance(10_000);
    await eventually('b is off', async () => isDeepStrictEqual(await powers(driver), { b: 'Off' }));
    assert.equal((await driver.list(signal))[0]?.stopReason, 'Crashed');
  });

  it('ends a guest when it is due, though nobody asks, and has no timer after that', async () => {
    const driver = await open([{ fault: 'CrashedGuest', running: '10m' }]);
    await create(driver, 'a');
    await start(driver, 'a');
    const heard = driver.changes(signal)[Symbol.asyncIterator]();
    await clock.advance(10 * 60_000);
    assert.equal((await heard.next()).value, 'a');
    assert.deepEqual(await powers(driver), { a: 'Off' });
    assert.equal(clock.waiting, 0);
  });

  it('tells of its guests when its disk is full, and when it is not any more', async () => {
    const driver = await open();
    await create(driver, 'a');
    await start(driver, 'a');
    const heard = driver.changes(signal)[Symbol.asyncIterator]();
    await driver.inject([{ fault: 'DiskFull', for: '1m' }]);
    assert.equal((await heard.next()).value, 'a');
    assert.equal((await driver.list(signal))[0]?.problem?.reason, 'DiskFull');
    await assert.rejects(create(driver, 'b'), { reason: 'NoSpace', message: /full/ });
    await clock.advance(60_000);
    assert.equal((await heard.next()).value, 'a');
    assert.equal((await driver.list(signal))[0]?.problem, undefined);
    await create(driver, 'b');
  });

  it('starts nothing while its disk is full, and says why', async () => {
    const driver = await open([{ fault: 'DiskFull', after: '1m', for: '1m' }]);
    await create(driver, 'a');
    await clock.advance(60_000);
    await assert.rejects(driver.start('a', signal), { reason: 'NoSpace', message: /full/ });
    await clock.advance(60_000);
    await start(driver, 'a');
    assert.deepEqual(await powers(driver), { a: 'Running' });
  });

  it('tells of a slot that is free again though its guest is long gone', async () => {
    const driver = await open([{ fault: 'LeakedSlot', for: '1m' }]);
    await create(driver, 'a', { guestOS: 'macos' });
    await start(driver, 'a');
    await driver.remove('a', signal);
    assert.equal(await driver.leakedSlots(), 1);
    const heard = driver.changes(signal)[Symbol.asyncIterator]();
    await clock.advance(60_000);
    assert.equal((await heard.next()).value, 'a');
    assert.equal(await driver.leakedSlots(), 0);
  });

  it('ends guests by faults that come later, on time', async () => {
    const faults = new HostFaults({ host: 'mac-1', faults: [], seed: 1, clock, log: silentLogger });
    const guests = await SimGuestsFile.open(join(root, 'guests.json'), systemClock);
    const capacity = { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 100 * GIB };
    const driver = new SimDriver({ host: guests.host('mac-1'), capacity, clock, faults });
    await create(driver, 'a');
    await start(driver, 'a');
    const heard = driver.changes(signal)[Symbol.asyncIterator]();
    faults.add([{ fault: 'LostGuest', after: '5m' }]);
    await heard.next();
    await clock.advance(5 * 60_000);
    await heard.next();
    assert.deepEqual(await powers(driver), {});
  });

  it('shows a stepped clock in its times and to whoever asks the host for the time', async () => {
    const driver = await open([{ fault: 'ClockStep', by: '+10s' }]);
    await create(driver, 'a');
    const before = clock.now();
    const started = driver.start('a', signal);
    await eventually('the start waits', () => clock.waiting === 1);
    await clock.advance(300);
    await started;
    assert.equal((await driver.list(signal))[0]?.startedAt, before + 10_000);
    assert.equal(driver.clock.now(), clock.now() + 10_000);
  });

  it('is still starting after a restart in the middle of a start', async () => {
    const driver = await open();
    await create(driver, 'a', { guestOS: 'macos' });
    void driver.start('a', signal);
    await eventually('the start waits', () => clock.waiting === 1);
    const next = await open();
    assert.deepEqual(await powers(next), { a: 'Starting' });
    await clock.advance(1000);
    assert.deepEqual(await powers(next), { a: 'Running' });
  });

  it('shows nothing that a driver opened after a crash would not find, and hides nothing it would', async () => {
    const driver = await open();
    // A folder where the file is first written: every write fails until it is gone.
    const obstacle = join(root, 'guests.json.tmp');
    const shows = async (what: object) => {
      assert.deepEqual(await powers(driver), what);
      assert.deepEqual(await powers(await open()), what);
    };
    const unsaved = async (work: () => Promise<void>, what: object) => {
      await mkdir(obstacle);
      for (let again = 0; again < 2; again++) await assert.rejects(work(), { code: 'EISDIR' });
      await shows(what);
      await rmdir(obstacle);
      await work();
    };
    await unsaved(() => create(driver, 'a'), {});
    await shows({ a: 'Off' });
    await unsaved(() => start(driver, 'a'), { a: 'Off' });
    await shows({ a: 'Running' });
    await unsaved(() => driver.pause('a', signal), { a: 'Running' });
    await unsaved(() => driver.resume('a', signal), { a: 'Paused' });
    await unsaved(() => driver.stop('a', { graceMs: 0 }, signal), { a: 'Running' });
    await unsaved(() => driver.remove('a', signal), { a: 'Off' });
    await shows({});
  });

  it('tells of a change once it can be seen', async () => {
    const driver = await open();
    const heard = driver.changes(signal)[Symbol.asyncIterator]();
    void create(driver, 'a');
    await heard.next();
    assert.deepEqual(await powers(driver), { a: 'Off' });
    void driver.remove('a', signal);
    await heard.next();
    assert.deepEqual(await powers(driver), {});
  });

  it('says in its log that it is simulated', async () => {
    const driver = await open();
    await create(driver, 'a');
    let log = '';
    for await (const bytes of driver.logs('a', {}, signal)) log += Buffer.from(bytes).toString();
    assert.match(log, /simulated guest demo\/a/);
  });

  it('says a command it does not know is simulated', async () => {
    const driver = await open();
    await create(driver, 'a');
    await start(driver, 'a');
    const command = await driver.exec('a', { command: ['ls', '-l'], stdin: false }, signal);
    let words = '';
    for await (const bytes of command.stderr) words += Buffer.from(bytes).toString();
    assert.match(words, /^simulated guest: "ls"/);
    assert.deepEqual(await command.exit, { code: 127 });
  });

  it('holds a cat back when nobody reads it', async () => {
    const driver = await open();
    await create(driver, 'a');
    await start(driver, 'a');
    const cat = await driver.exec('a', { command: ['cat'], stdin: true }, signal);
    const chunk = new Uint8Array(200 * 1024);
    await cat.write(chunk);
    await cat.write(chunk);
    let third = false;
    const writing = cat.write(chunk).then(() => {
      third = true;
    });
    await clock.advance(1);
    assert.equal(third, false);
    const reader = cat.stdout[Symbol.asyncIterator]();
    await reader.next();
    await writing;
    await cat.closeStdin();
  });
});

describe('the file of simulated guests', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'coppice-sim-'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));
  const guest = (id: string) => ({
    spec: {
      id,
      label: id,
      hostname: id,
      guestOS: 'linux' as const,
      image: { path: 'i', digest: 'd' },
      vcpus: 1,
      memoryBytes: 1,
      diskBytes: 0,
      epoch: 1,
    },
    power: 'Off' as const,
    log: [],
    logged: 0,
  });

  it('keeps the guests of many hosts apart, and every save that was awaited', async () => {
    const path = join(root, 'deep', 'guests.json');
    const clock = new ManualClock();
    const file = await SimGuestsFile.open(path, clock);
    const hosts = Array.from({ length: 200 }, (_, i) => file.host(`mac-${i}`));
    await Promise.all(
      hosts.map(async (host, i) => {
        host.guests.set(`g${i}`, guest(`g${i}`));
        await host.save();
      }),
    );
    const again = await SimGuestsFile.open(path, clock);
    for (let i = 0; i < 200; i++) assert.deepEqual([...again.host(`mac-${i}`).guests.keys()], [`g${i}`]);
  });

  it('has a change made while a write was under way in the file when its own save resolves', async () => {
    const path = join(root, 'guests.json');
    const file = await SimGuestsFile.open(path, new ManualClock());
    const host = file.host('mac-1');
    host.guests.set('a', guest('a'));
    const first = host.save();
    await Promise.resolve();
    host.guests.set('b', guest('b'));
    await host.save();
    assert.match(await readFile(path, 'utf8'), /"b"/);
    await first;
  });

  it('gives back what was in it to whoever opens a host again whose process died, and nothing of what that one still does', async () => {
    const file = await SimGuestsFile.open(join(root, 'guests.json'), systemClock);
    const dead = file.host('mac-1');
    const other = file.host('mac-2');
    dead.guests.set('a', guest('a'));
    await dead.save();
    dead.guests.set('b', guest('b'));
    file.kill('mac-1');
    dead.guests.set('c', guest('c'));
    await dead.save();
    other.guests.set('d', guest('d'));
    await other.save();
    const again = await file.reopen('mac-1');
    assert.deepEqual([...again.guests.keys()], ['a']);
    assert.deepEqual([...again.saved.keys()], ['a']);
    again.guests.set('e', guest('e'));
    await again.save();
    const read = await SimGuestsFile.open(join(root, 'guests.json'), systemClock);
    assert.deepEqual([...read.host('mac-1').guests.keys()], ['a', 'e']);
    assert.deepEqual([...read.host('mac-2').guests.keys()], ['d']);
  });

  it('keeps volumes as it keeps guests, and reads a file that has none', async () => {
    const path = join(root, 'guests.json');
    await writeFile(path, '{"schema":1,"hosts":{"mac-1":{}}}');
    const file = await SimGuestsFile.open(path, systemClock);
    const dead = file.host('mac-1');
    dead.volumes.set('vol-a', GIB);
    assert.equal(dead.savedVolumes.size, 0, 'nothing is told of before it is in the file');
    await dead.save();
    dead.volumes.set('vol-b', GIB);
    file.kill('mac-1');
    const again = await file.reopen('mac-1');
    assert.deepEqual([[...again.volumes], [...again.savedVolumes]], [[['vol-a', GIB]], [['vol-a', GIB]]]);
    again.volumes.set('vol-a', 2 * GIB);
    await again.save();
    const read = await SimGuestsFile.open(path, systemClock);
    assert.deepEqual([...read.host('mac-1').volumes], [['vol-a', 2 * GIB]]);
  });

  it('has what a write had taken when the process died, and not what none had', async () => {
    const found = new Set<string>();
    for (let ticks = 0; ticks < 10; ticks++) {
      const path = join(root, `guests-${ticks}.json`);
      const file = await SimGuestsFile.open(path, systemClock);
      const dead = file.host('mac-1');
      dead.guests.set('a', guest('a'));
      const saving = dead.save();
      for (let i = 0; i < ticks; i++) await Promise.resolve();
      file.kill('mac-1');
      const again = await file.reopen('mac-1');
      await saving;
      const read = await SimGuestsFile.open(path, systemClock);
      const kept = [...again.guests.keys()].join();
      assert.equal(kept, [...read.host('mac-1').guests.keys()].join());
      found.add(kept);
    }
    assert.deepEqual([...found].sort(), ['', 'a']);
  });

  it('names a file that is not one', async () => {
    const path = join(root, 'guests.json');
    await writeFile(path, '{"schema":2}');
    await assert.rejects(SimGuestsFile.open(path, new ManualClock()), /guests\.json is not a file of simulated guests/);
    await writeFile(path, '{"schema":1,"hosts":{');
    await assert.rejects(SimGuestsFile.open(path, new ManualClock()), /guests\.json is not JSON/);
  });
});

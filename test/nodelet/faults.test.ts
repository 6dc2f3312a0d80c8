import assert from 'node:assert/strict';
import { type Fault, STEPS } from '../../nodelet/drivers/sim/faults/fault.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FaultyWorld } from './faulty-world.ts';

describe('a simulated host with faults', function () {
  this.timeout(60_000);
  let faulty: FaultyWorld;
  afterEach(() => faulty[Symbol.asyncDispose]());

  const begin = async (...faults: readonly Fault[]) => {
    faulty = await FaultyWorld.make(faults);
    faulty.start();
    return faulty.world;
  };
  const messageOf = (name: string) => {
    const vm = faulty.world.vm(name);
    return vm && findCondition(vm, 'Ready')?.message;
  };

  it('that starts slowly has its VM Creating for that long', async () => {
    const world = await begin({ fault: 'SlowOperation', vms: ['demo/slow'], takes: '55s' });
    await world.aVM('quick');
    await world.untilReady('quick');
    await world.aVM('slow');
    const guest = await world.until('it starts', () =>
      faulty.guests().find(({ bootedAt, spec }) => spec.id === 'uid-slow' && bootedAt),
    );
    const { startedAt = 0, bootedAt = 0 } = guest;
    assert.equal(bootedAt - startedAt, 55_000);
    await world.untilPhase('slow', 'Creating', 'Starting');
    await world.pass(Math.max(0, bootedAt - 1 - world.clock.now()));
    assert.equal(world.vm('slow')?.status?.phase, 'Creating');
    await world.untilReady('slow');
    assert.deepEqual(faulty.lines, ['fault fault=SlowOperation operation=Start vm=demo/slow']);
  });

  it('that fails starts says why on the VM, which comes up in the end', async () => {
    const world = await begin({ fault: 'FailedOperation', times: 2 });
    await world.aVM('a');
    await world.untilPhase('a', 'Creating', 'StartFailed');
    assert.match(messageOf('a') ?? '', /told to fail this start; tried once/);
    await world.untilReady('a');
    assert.deepEqual(faulty.lines, [
      'fault fault=FailedOperation operation=Start vm=demo/a',
      'fault fault=FailedOperation operation=Start vm=demo/a',
    ]);
  });

  it('that loses a guest says so, though nobody had asked for it', async () => {
    const world = await begin({ fault: 'LostGuest', running: '1h' });
    await world.aVM('a');
    await world.untilReady('a');
    await world.pass(50 * 60_000);
    assert.ok(world.isReady('a'));
    await world.pass(10 * 60_000);
    await world.untilPhase('a', 'Failed', 'GuestLost');
    assert.equal(faulty.guests().length, 0);
    assert.deepEqual(faulty.lines, ['fault fault=LostGuest vm=demo/a']);
  });

  it('that leaks a macOS slot tells of it, and has it back when that is over', async () => {
    const world = await begin({ fault: 'LeakedSlot', for: '5m' });
    const { digest } = await world.driver.facts('tiny');
    const resolved = { digest, guestOS: 'macos', vcpus: 2, memory: '1Gi' } as const;
    for (const name of ['a', 'b']) await world.aVM(name, { resolved });
    await world.aVM('c', { resolved, power: 'Stopped' });
    const slots = () => world.host()?.status?.macosSlots;
    await world.until('both slots are used', () => slots()?.used === 2);
    assert.deepEqual(slots(), { total: 2, used: 2, leaked: 0 });
    world.set('a', { power: 'Stopped' });
    await world.until('one is leaked', () => slots()?.leaked === 1);
    assert.deepEqual(slots(), { total: 2, used: 1, leaked: 1 });
    const event = [...world.api.objects.values()].find(({ kind }) => kind === 'Event');
    assert.equal(event?.reason, 'SlotLeaked');
    assert.match(String(event?.message), /^1 macOS slot is taken though no guest has it/);
    world.set('c', { power: 'Running' });
    await world.untilPhase('c', 'Pending', 'MacSlotLimit');
    assert.match(messageOf('c') ?? '', /all 2 macOS slots are taken: 1 by guests, 1 leaked/);
    await world.pass(5 * 60_000);
    await world.untilReady('c');
    await world.until('the slot is given to another', () => slots()?.used === 2);
    assert.deepEqual(slots(), { total: 2, used: 2, leaked: 0 });
  });

  it('that is cut off does nothing it is told meanwhile, and all of it afterwards; guests run on', async () => {
    const world = await begin();
    await world.aVM('a');
    await world.untilReady('a');
    const before = faulty.guests();
    faulty.faults.add([{ fault: 'Partition', for: '2m' }]);
    const written = world.api.writes.length;
    world.set('a', { power: 'Stopped' });
    await world.aVM('b');
    await world.pass(115_000);
    await world.pass(0);
    assert.deepEqual(faulty.guests(), before);
    assert.equal(world.api.writes.length, written);
    await world.untilPhase('a', 'Stopped', 'Stopped');
    await world.untilReady('b');
    assert.deepEqual(faulty.lines, ['fault fault=Partition lastsMs=120000', 'fault over fault=Partition']);
  });

  it('whose clock jumps back tells times of then, and starts its guests all the same', async () => {
    const world = await begin({ fault: 'ClockStep', by: '-1h' });
    await world.aVM('a');
    const vm = await world.untilReady('a');
    const hourAgo = world.clock.now() - 3_600_000;
    const stamps = [vm.status?.startedAt, findCondition(vm, 'Ready')?.lastTransitionTime].map((t) =>
      Date.parse(t ?? ''),
    );
    for (const stamp of stamps) assert.ok(Math.abs(stamp - hourAgo) < 1_800_000, `${stamp} is not near ${hourAgo}`);
  });

  it('whose disk is full says so of what is to start and of what runs, until it has room again', async () => {
    const world = await begin();
    await world.aVM('runs');
    await world.untilReady('runs');
    faulty.faults.add([{ fault: 'DiskFull', for: '1m' }]);
    await world.aVM('comes');
    await world.untilPhase('comes', 'Pending', 'NoSpace');
    assert.match(messageOf('comes') ?? '', /the disk of the simulated host is full/);
    await world.until('the other tells of it', () => world.reason('runs') === 'DiskFull');
    assert.equal(world.vm('runs')?.status?.phase, 'Running');
    await world.untilReady('comes');
    await world.untilReady('runs');
  });

  it('whose nodelet dies at any moment finds the same guests again when it is back', async () => {
    const world = await begin();
    await world.aVM('a');
    const { status } = await world.untilReady('a');
    faulty.faults.add([{ fault: 'NodeletCrash', for: '20m' }]);
    assert.deepEqual(faulty.lines, ['fault fault=NodeletCrash lastsMs=1200000']);
    const written = world.api.writes.length;
    world.set('a', { power: 'Stopped' });
    await world.pass(19 * 60_000);
    assert.equal(world.api.writes.length, written);
    assert.equal(faulty.lives, 1);
    assert.equal(faulty.guests()[0]?.power, 'Running');
    world.set('a', { power: 'Running' });
    await world.pass(60_000);
    await world.until('it is back', () => faulty.lives === 2);
    const vm = await world.until(
      'it reports',
      () => world.vm('a')?.status?.observedGeneration === world.vm('a')?.metadata.generation && world.vm('a'),
    );
    assert.equal(vm.status?.startedAt, status?.startedAt);
    assert.equal(vm.status?.phase, 'Running');
  });

  describe('whose nodelet dies', () => {
    for (const step of STEPS) {
      it(`${step.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim()} ends in the same place`, async () => {
        const world = await begin({ fault: 'NodeletCrash', step, times: 2, for: '1s' });
        await world.aVM('a');
        await world.untilReady('a');
        assert.equal(faulty.guests().length, 1);
        world.set('a', { power: 'Paused' });
        await world.untilPhase('a', 'Paused', 'Paused');
        world.set('a', { power: 'Running' });
        await world.untilReady('a');
        world.set('a', { power: 'Stopped' });
        await world.untilPhase('a', 'Stopped', 'Stopped');
        await world.until('the guest is off', () => faulty.guests()[0]?.power === 'Off');
        world.api.delete('vms', 'demo/a');
        await world.until('the VM is gone', () => world.vm('a') === undefined);
        assert.equal(faulty.guests().length, 0);
        assert.ok(faulty.lines.length > 0);
        assert.equal(faulty.lives, 1 + faulty.lines.length);
      });
    }
  });
});

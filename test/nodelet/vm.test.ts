import assert from 'node:assert/strict';
import { DriverError } from '../../nodelet/drivers/driver.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition, setConditions } from '../../resources/meta/condition.ts';
import { NodeletWorld } from './nodelet-world.ts';

describe('nodelet: a VM', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('becomes a guest that runs, and is Ready', async () => {
    const vm = await world.running('a');
    assert.deepEqual(vm.status?.guest, { id: 'uid-a', power: 'Running', epoch: 1 });
    assert.equal(vm.status?.phase, 'Running');
    assert.equal(vm.status?.host, 'mac-1');
    assert.equal(vm.status?.agent, 'Ready');
    assert.equal(vm.status?.startedFrom, 'cold');
    assert.equal(vm.status?.observedGeneration, vm.metadata.generation);
    for (const type of ['Ready', 'AgentReady', 'Scheduled'])
      assert.equal(findCondition(vm, type)?.status, 'True', type);
    const guest = world.guests.get('uid-a');
    assert.equal(guest?.spec.label, 'demo/a');
    assert.equal(guest?.spec.hostname, 'a');
    assert.equal(guest?.spec.vcpus, 2);
    assert.equal(guest?.spec.memoryBytes, 1024 ** 3);
  });

  it('is not written about when nothing changes', async () => {
    await world.running('a');
    await world.quiet();
    const before = world.api.writes.length;
    await world.quiet();
    assert.deepEqual(world.api.writes.slice(before), []);
  });

  it('is told of again by its own nodelet after others spoke for it: at once, or when the nodelet is back', async () => {
    await world.running('a');
    spokenFor('Unknown', 'HostUnreachable', 'Running');
    assert.equal((await world.untilReady('a')).status?.phase, 'Running');
    await world.stop();
    spokenFor('Unknown', 'HostUnreachable', 'Running');
    await world.start();
    assert.equal((await world.untilReady('a')).status?.phase, 'Running');
  });

  it('stays given up when its host comes back as another: the guest is an orphan, also once the VM is deleted', async () => {
    await world.running('a');
    await world.stop();
    spokenFor('False', 'HostLost', 'Failed');
    await world.start();
    await world.until('it is an orphan', () => world.host()?.status?.orphans?.length === 1);
    await world.quiet();
    assert.equal(world.vm('a')?.status?.phase, 'Failed');
    world.api.delete('vms', 'demo/a');
    await world.quiet();
    assert.equal(world.guests.get('uid-a')?.power, 'Running');
    assert.equal(world.host()?.status?.orphans?.length, 1);
  });

  function spokenFor(status: 'Unknown' | 'False', reason: string, phase: 'Running' | 'Failed'): void {
    world.api.change('vms', 'demo/a', (object) => {
      const vm = object as VM;
      const conditions = setConditions(vm, world.clock.now(), [{ type: 'Ready', status, reason, message: 'm' }]);
      return { ...vm, status: { ...vm.status, phase, conditions } };
    });
    assert.equal(world.isReady('a'), false);
  }

  const writesOf = (name: string) => world.api.writes.filter((write) => write.startsWith(`PATCH vms/${name}`));

  it('takes few writes to become Ready: of what ends at once only the end is told', async () => {
    await world.running('a');
    const writes = writesOf('a');
    assert.ok(writes.length <= 2, writes.join('\n'));
  });

  it('is Creating once that takes longer than a moment', async () => {
    await world.start();
    const made = Promise.withResolvers<void>();
    world.driver.createGate = made.promise;
    await world.aVM('a');
    await world.until('its creation has begun', () => world.driver.calls.includes('create uid-a'));
    const told = await world.untilPhase('a', 'Creating', 'Creating');
    assert.equal(told.status?.guest, undefined);
    assert.equal(writesOf('a').length, 1);
    made.resolve();
    await world.untilReady('a');
  });

  it('is stopped and started as its power says', async () => {
    await world.running('a');
    world.set('a', { power: 'Stopped' });
    const stopped = await world.untilPhase('a', 'Stopped', 'Stopped');
    assert.equal(stopped.status?.guest?.power, 'Off');
    world.set('a', { power: 'Running' });
    await world.untilReady('a');
    assert.equal(world.guests.get('uid-a')?.power, 'Running');
  });

  it('is paused and resumed as its power says', async () => {
    await world.running('a');
    world.set('a', { power: 'Paused' });
    await world.untilPhase('a', 'Paused', 'Paused');
    assert.equal(world.guests.get('uid-a')?.power, 'Paused');
    world.set('a', { power: 'Running' });
    await world.untilReady('a');
  });

  it('that was never started is not started to be paused', async () => {
    await world.aVM('a', { power: 'Paused' });
    await world.start();
    await world.untilPhase('a', 'Stopped', 'NotStarted');
    await world.quiet();
    assert.deepEqual(world.driver.calls, []);
  });

  it('restamps its conditions for a new generation', async () => {
    await world.running('a');
    world.set('a', { ttl: '8h' });
    const generation = world.vm('a')?.metadata.generation;
    assert.equal(generation, 2);
    const vm = await world.until('restamped', () => {
      const now = world.vm('a');
      return now?.status?.observedGeneration === generation && now;
    });
    assert.equal(findCondition(vm, 'Ready')?.observedGeneration, generation);
  });

  it('waits for an image that is not here, says so, and starts once it is', async () => {
    world.anImage('late', 'linux', 'missing/late');
    await world.aVM('a', { image: 'other' });
    await world.start();
    await world.untilPhase('a', 'Pending', 'ImageNotFound');
    world.anImage('other');
    await world.untilReady('a');
  });

  it('admitted with another content of its image than lies here waits, and says so', async () => {
    await world.aVM('a', { resolved: { digest: 'sha256:other', guestOS: 'linux', vcpus: 1, memory: '1Gi' } });
    await world.start();
    const vm = await world.untilPhase('a', 'Pending', 'ImageMissing');
    assert.match(findCondition(vm, 'Ready')?.message ?? '', /not sha256:other/);
    await world.quiet();
    assert.equal(world.guests.size, 0);
  });

  it('that cannot be paused here runs on, and says so', async () => {
    await world.running('a');
    let tries = 0;
    world.driver.pause = async () => {
      tries += 1;
      throw new DriverError('Unsupported', 'this driver cannot pause');
    };
    world.set('a', { power: 'Paused' });
    await world.untilPhase('a', 'Running', 'Unsupported');
    await world.quiet();
    assert.equal(tries, 1);
    world.set('a', { power: 'Running' });
    await world.untilReady('a');
  });

  it('whose guest cannot be stopped is tried again and again, and says why', async () => {
    await world.running('a');
    await world.driver.inject([{ fault: 'FailedOperation', operation: 'Stop', times: 8 }]);
    world.set('a', { power: 'Stopped' });
    const vm = await world.untilPhase('a', 'Running', 'StopFailed');
    assert.match(findCondition(vm, 'Ready')?.message ?? '', /told to fail this stop; tried/);
    await world.untilPhase('a', 'Stopped', 'Stopped');
  });

  it('that is larger than what is left is refused, and starts once there is room', async () => {
    const size = (memory: string) => ({ resolved: { digest: '', guestOS: 'linux' as const, vcpus: 1, memory } });
    const { digest } = await world.driver.facts('tiny');
    const big = { resolved: { ...size('10Gi').resolved, digest } };
    await world.running('a', big);
    await world.aVM('b', big);
    const refused = await world.untilPhase('b', 'Pending', 'InsufficientMemory');
    assert.match(findCondition(refused, 'Ready')?.message ?? '', /needs 10Gi memory; 4Gi of 14Gi are free/);
    world.set('a', { power: 'Stopped' });
    await world.untilReady('b');
  });

  it('that would be the third macOS guest is refused, started at once or not', async () => {
    const { digest } = await world.driver.facts('tiny');
    const mac = { resolved: { digest, guestOS: 'macos' as const, vcpus: 1, memory: '1Gi' } };
    for (const name of ['a', 'b', 'c']) await world.aVM(name, mac);
    await world.start();
    const names = ['a', 'b', 'c'];
    await world.until('two are ready', () => names.filter((name) => world.isReady(name)).length === 2);
    const third = names.find((name) => !world.isReady(name)) ?? '';
    await world.untilPhase(third, 'Pending', 'MacSlotLimit');
    await world.quiet();
    assert.equal([...world.guests.values()].filter((guest) => guest.power === 'Running').length, 2);
    assert.equal(world.driver.calls.filter((call) => call.startsWith('start')).length, 2);
    await world.until('both slots are told of', () => world.host()?.status?.macosSlots?.used === 2);
  });
});

import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../../nodelet/drivers/driver.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { NodeletWorld } from './nodelet-world.ts';

describe('nodelet', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const running = async (name: string, spec = {}) => {
    await world.aVM(name, spec);
    if (world.nodelet === undefined) await world.start();
    await world.until('the host is told of', () => world.host()?.status?.capacity);
    return world.untilReady(name);
  };

  describe('a VM', () => {
    it('becomes a guest that runs, and is Ready', async () => {
      const vm = await running('a');
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
      await running('a');
      await world.quiet();
      const before = world.api.writes.length;
      await world.quiet();
      assert.deepEqual(world.api.writes.slice(before), []);
    });

    it('takes few writes to become Ready', async () => {
      await running('a');
      const writes = world.api.writes.filter((write) => write.startsWith('PATCH vms/a'));
      assert.ok(writes.length <= 3, writes.join('\n'));
    });

    it('is stopped and started as its power says', async () => {
      await running('a');
      world.set('a', { power: 'Stopped' });
      const stopped = await world.untilPhase('a', 'Stopped', 'Stopped');
      assert.equal(stopped.status?.guest?.power, 'Off');
      world.set('a', { power: 'Running' });
      await world.untilReady('a');
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
    });

    it('is paused and resumed as its power says', async () => {
      await running('a');
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
      await running('a');
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
      await running('a');
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
      await running('a');
      await world.driver.inject([{ kind: 'fail-next', operation: 'stop', times: 8 }]);
      world.set('a', { power: 'Stopped' });
      const vm = await world.untilPhase('a', 'Running', 'StopFailed');
      assert.match(findCondition(vm, 'Ready')?.message ?? '', /told to fail this stop; tried/);
      await world.untilPhase('a', 'Stopped', 'Stopped');
    });

    it('that is larger than what is left is refused, and starts once there is room', async () => {
      const size = (memory: string) => ({ resolved: { digest: '', guestOS: 'linux' as const, vcpus: 1, memory } });
      const { digest } = await world.driver.facts('tiny');
      const big = { resolved: { ...size('10Gi').resolved, digest } };
      await running('a', big);
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

  describe('a guest that fails', () => {
    it('by crashing leaves its VM Interrupted, until the user stops and starts it', async () => {
      await running('a');
      await world.crash('a');
      const vm = await world.untilPhase('a', 'Interrupted', 'GuestCrashed');
      assert.match(findCondition(vm, 'Ready')?.message ?? '', /set power to Stopped, then to Running/);
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Off');
      world.set('a', { power: 'Stopped' });
      await world.untilPhase('a', 'Stopped', 'Stopped');
      await world.until('it is recorded', () => world.guests.get('uid-a')?.stopReason === 'Requested');
      world.set('a', { power: 'Running' });
      await world.untilReady('a');
    });

    it('by crashing stays Interrupted over a restart of the nodelet', async () => {
      await running('a');
      await world.crash('a');
      await world.untilPhase('a', 'Interrupted');
      await world.stop();
      await world.start();
      await world.quiet();
      assert.equal(world.vm('a')?.status?.phase, 'Interrupted');
      assert.deepEqual(world.driver.calls, []);
    });

    it('by shutting itself down stays off', async () => {
      await running('a');
      const signal = new AbortController().signal;
      await world.driver.exec('uid-a', { command: ['poweroff'], stdin: false }, signal);
      await world.untilPhase('a', 'Stopped', 'GuestShutdown');
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Off');
    });

    it('to start is tried again, and then called Failed with the words of the driver', async () => {
      await world.aVM('a');
      await world.start();
      await world.driver.inject([{ kind: 'fail-next', operation: 'start', times: 99 }]);
      const vm = await world.untilPhase('a', 'Failed', 'StartFailed');
      assert.match(findCondition(vm, 'Ready')?.message ?? '', /told to fail this start; tried 5 times/);
      const tries = world.driver.calls.length;
      await world.quiet();
      assert.equal(world.driver.calls.length, tries);
      assert.equal(world.driver.calls.filter((call) => call === 'start uid-a').length, 5);
    });

    it('to start a few times is Ready in the end', async () => {
      await world.aVM('a');
      await world.start();
      await world.driver.inject([{ kind: 'fail-next', operation: 'start', times: 3 }]);
      await world.untilReady('a');
    });

    it('by vanishing is not made again under the same name', async () => {
      await running('a');
      await world.driver.inject([{ kind: 'lose', guest: 'uid-a', afterMs: 0 }]);
      const vm = await world.untilPhase('a', 'Failed', 'GuestLost');
      assert.equal(vm.status?.guest?.power, 'Gone');
      await world.quiet();
      assert.equal(world.guests.size, 0);
    });
  });

  describe('a deletion', () => {
    it('removes the guest, says it is gone, then lets the object go', async () => {
      await running('a');
      const before = world.api.writes.length;
      world.api.delete('vms', 'demo/a');
      await world.until('it is gone', () => world.vm('a') === undefined);
      assert.equal(world.guests.size, 0);
      assert.deepEqual(
        world.api.writes
          .slice(before)
          .filter((write) => write.includes('vms'))
          .slice(-2),
        ['PATCH vms/a/status', 'PATCH vms/a'],
      );
    });

    it('with another finalizer leaves a VM whose guest is Gone', async () => {
      await running('a');
      world.api.change('vms', 'demo/a', (vm) => ({
        ...vm,
        metadata: { ...vm.metadata, finalizers: [...(vm.metadata.finalizers ?? []), 'example.com/mine'] },
      }));
      world.api.delete('vms', 'demo/a');
      await world.until('only theirs is left', () => world.vm('a')?.metadata.finalizers?.join() === 'example.com/mine');
      assert.equal(world.vm('a')?.status?.guest?.power, 'Gone');
      await world.quiet();
      assert.equal(world.guests.size, 0);
    });

    it('while the guest is being stopped or started ends the same', async () => {
      await world.aVM('a');
      await world.aVM('b');
      await world.start();
      await world.driver.inject([{ kind: 'slow', operation: 'stop', ms: 20_000 }]);
      await world.untilReady('a');
      world.set('a', { power: 'Stopped' });
      await world.untilPhase('a', 'Stopping');
      world.api.delete('vms', 'demo/a');
      await world.driver.inject([{ kind: 'slow', operation: 'start', ms: 50_000 }]);
      await world.aVM('c');
      await world.until('c is starting', () => world.vm('c')?.status?.guest?.power === 'Starting');
      world.api.delete('vms', 'demo/c');
      const began = world.clock.now();
      await world.until('both are gone', () => world.vm('a') === undefined && world.vm('c') === undefined);
      assert.ok(world.clock.now() - began < 10_000, 'it waited for an operation nobody wants any more');
      assert.deepEqual([...world.guests.keys()], ['uid-b']);
    });

    it('of a VM that never had a guest lets it go', async () => {
      await world.aVM('a', { power: 'Stopped' });
      await world.start();
      await world.untilPhase('a', 'Stopped');
      world.api.delete('vms', 'demo/a');
      await world.until('it is gone', () => world.vm('a') === undefined);
    });

    it('of one VM spares the guest another VM names', async () => {
      await running('member');
      await world.aVM('claimer', { guestID: 'uid-member' });
      world.api.delete('vms', 'demo/member');
      await world.until('the member is gone', () => world.vm('member') === undefined);
      await world.untilReady('claimer');
      assert.equal(world.guests.get('uid-member')?.power, 'Running');
      assert.ok(!world.driver.calls.includes('remove uid-member'));
    });
  });

  describe('a guest without a VM object', () => {
    it('is reported, keeps its share, and is never removed', async () => {
      await running('a');
      world.api.vanish('vms', 'demo/a');
      const host = await world.until(
        'it is reported',
        () => world.host()?.status?.orphans?.length === 1 && world.host(),
      );
      assert.deepEqual(host?.status?.orphans, [{ id: 'uid-a', label: 'demo/a', power: 'Running' }]);
      assert.equal(host?.status?.allocatable?.memory, '13Gi');
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
      await world.stop();
      await world.start();
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
      assert.deepEqual(world.driver.calls, []);
    });

    it('is stopped, not removed, when its VM is bound elsewhere under a newer epoch', async () => {
      await running('a');
      world.set('a', { hostName: 'mac-2', epoch: 2 });
      await world.until('it is off', () => world.guests.get('uid-a')?.power === 'Off');
      await world.quiet();
      assert.equal(world.guests.size, 1);
      assert.equal(world.host()?.status?.orphans?.length, 1);
    });

    it('runs on when its VM is bound elsewhere under no newer epoch', async () => {
      await running('a');
      world.set('a', { hostName: 'mac-2' });
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
    });
  });

  describe('epochs', () => {
    it('stop a guest of an older binding, then start it as one of this', async () => {
      await running('a');
      world.set('a', { epoch: 2 });
      const vm = await world.until(
        'it runs again',
        () => world.vm('a')?.status?.guest?.epoch === 2 && world.isReady('a') && world.vm('a'),
      );
      assert.equal(vm?.status?.guest?.power, 'Running');
      assert.ok(world.driver.calls.includes('stop uid-a'));
    });

    it('never let an older object touch a newer guest', async () => {
      await running('a', { epoch: 5 });
      world.set('a', { epoch: 3, power: 'Stopped' });
      await world.untilPhase('a', 'Pending', 'NewerGuest');
      world.api.delete('vms', 'demo/a');
      await world.quiet();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
    });
  });

  describe('a restart', () => {
    it('adopts what runs: nothing is made, started or stopped', async () => {
      await running('a');
      await world.stop();
      assert.equal(world.guests.get('uid-a')?.power, 'Running');
      const before = world.api.writes.length;
      await world.start();
      await world.quiet();
      assert.deepEqual(world.driver.calls, []);
      assert.deepEqual(world.api.writes.slice(before), []);
      assert.ok(world.isReady('a'));
    });

    it('decides nothing before it knows what is wanted', async () => {
      await running('a');
      await world.stop();
      const gate = Promise.withResolvers<void>();
      world.api.vmListGate = gate.promise;
      const before = world.api.writes.length;
      await world.start();
      await world.quiet();
      assert.deepEqual(world.api.writes.slice(before), []);
      gate.resolve();
      world.set('a', { power: 'Stopped' });
      await world.untilPhase('a', 'Stopped');
      assert.deepEqual(world.host()?.status?.orphans, []);
    });

    it('tells of no fewer images while it still looks for them', async () => {
      await running('a');
      await world.until('it is told of', () => world.host()?.status?.images?.length === 1);
      await world.stop();
      const gate = Promise.withResolvers<void>();
      await world.start(gate.promise);
      world.api.change('hosts', 'mac-1', (host) => ({ ...host, spec: { group: 'default', cordoned: true } }));
      await world.until('it is told of again', () => world.host()?.status?.observedGeneration === 2);
      assert.equal(world.host()?.status?.images?.length, 1);
      gate.resolve();
      await world.quiet();
      assert.equal(world.host()?.status?.images?.length, 1);
    });

    it('does what was asked meanwhile', async () => {
      await running('a');
      await running('b');
      await world.stop();
      world.api.delete('vms', 'demo/a');
      world.set('b', { power: 'Stopped' });
      await world.start();
      await world.until('a is gone', () => world.vm('a') === undefined);
      await world.untilPhase('b', 'Stopped', 'Stopped');
      assert.deepEqual([...world.guests.keys()], ['uid-b']);
    });
  });

  describe('a store that was put back', () => {
    const distrust = () => {
      const host = world.host();
      return host && findCondition(host, 'StoreRolledBack');
    };

    for (const [what, put] of [
      ['to an earlier revision', () => (world.api.revision = 50)],
      ['as another one', () => (world.api.storeUID = 'store-2')],
    ] as const) {
      it(`${what} has nothing stopped or removed until it is acknowledged`, async () => {
        await running('a');
        await running('b');
        await world.stop();
        put();
        world.api.delete('vms', 'demo/a');
        world.set('b', { power: 'Stopped' });
        await world.start();
        await world.until('it is noticed', () => distrust()?.status === 'True');
        await world.until('b says why', () => world.reason('b') === 'StoreRolledBack');
        await world.quiet();
        assert.equal(world.guests.get('uid-a')?.power, 'Running');
        assert.equal(world.guests.get('uid-b')?.power, 'Running');
        assert.equal(world.vm('b')?.status?.phase, 'Running');

        await world.nodelet?.acknowledgeStore();
        await world.until('a is gone', () => world.vm('a') === undefined);
        await world.untilPhase('b', 'Stopped', 'Stopped');
        await world.until('it is trusted', () => distrust()?.status === 'False');
      });
    }

    it('still has guests made and started', async () => {
      await running('a');
      await world.stop();
      world.api.storeUID = 'store-2';
      await world.aVM('b');
      await world.start();
      await world.untilReady('b');
      await world.until('it is noticed', () => distrust()?.status === 'True');
    });

    it('is not written about again and again', async () => {
      await running('a');
      await world.stop();
      world.api.revision = 50;
      await world.start();
      await world.until('it is noticed', () => distrust()?.status === 'True');
      await world.quiet();
      const before = world.api.writes.length;
      await world.quiet();
      assert.deepEqual(world.api.writes.slice(before), []);
    });
  });

  describe('its Host', () => {
    it('is made when absent, and told of', async () => {
      await world.start();
      const host = await world.until(
        'it tells its images',
        () => world.host()?.status?.images?.length === 1 && world.host(),
      );
      assert.equal(host?.spec.group, 'default');
      assert.deepEqual(host?.status?.capacity, { vcpus: 8, memory: '16Gi', disk: '256Gi' });
      assert.equal(host?.status?.allocatable?.memory, '14Gi');
      assert.equal(host?.status?.free?.memory, '14Gi');
      assert.equal(host?.status?.os, 'darwin');
      assert.deepEqual(host?.status?.macosSlots, { total: 2, used: 0 });
      assert.equal(host && findCondition(host, 'DriverReady')?.status, 'True');
      assert.equal(host?.status?.images?.[0]?.digest, (await world.driver.facts('tiny')).digest);
      await access(join(world.root, 'store.json'));
    });

    it('is adopted as the operator made it, with the conditions of others', async () => {
      world.api.put('hosts', {
        apiVersion: 'coppice.dev/v1',
        kind: 'Host',
        metadata: { name: 'mac-1', uid: 'u', resourceVersion: '', creationTimestamp: '2026-01-01T00:00:00Z' },
        spec: { group: 'studio', cordoned: true },
        status: {
          conditions: [
            {
              type: 'Ready',
              status: 'True',
              reason: 'Alive',
              message: 'm',
              lastTransitionTime: '2026-01-01T00:00:00Z',
            },
          ],
        },
      });
      await world.start();
      const host = await world.until('it is reported', () => world.host()?.status?.capacity && world.host());
      assert.equal(host?.spec.group, 'studio');
      assert.equal(host?.spec.cordoned, true);
      assert.equal(host && findCondition(host, 'Ready')?.reason, 'Alive');
      assert.ok(!world.api.writes.includes('POST hosts'));
    });

    it('tells what is left', async () => {
      await running('a');
      await world.until('a is counted', () => world.host()?.status?.free?.memory === '13Gi');
      world.set('a', { power: 'Stopped' });
      await world.until('a is not', () => world.host()?.status?.free?.memory === '14Gi');
    });

    it('tells of images as they come, go, and appear on disk', async () => {
      world.anImage('late', 'linux', 'missing/late');
      await world.start();
      const names = () =>
        world
          .host()
          ?.status?.images?.map((image) => image.name)
          .join();
      await world.until('one', () => names() === 'tiny');
      world.anImage('more');
      await world.until('two', () => names() === 'more,tiny');
      world.api.delete('images', 'more');
      await world.until('one again', () => names() === 'tiny');
      world.driver.image = async (path) => world.driver.facts(path);
      await world.quiet();
      assert.equal(names(), 'tiny');
      world.nodelet?.rescan();
      await world.until('the late one', () => names() === 'late,tiny');
    });

    it('says when the driver fails, and keeps what was known', async () => {
      await running('a');
      await world.driver.inject([{ kind: 'fail-next', operation: 'list', times: 40 }]);
      const condition = () => {
        const host = world.host();
        return host && findCondition(host, 'DriverReady');
      };
      await world.until('it says so', () => condition()?.status === 'False');
      assert.match(condition()?.message ?? '', /told to fail this list/);
      assert.equal(world.host()?.status?.capacity?.memory, '16Gi');
      assert.ok(world.isReady('a'));
      await world.driver.inject([{ kind: 'fail-next', operation: 'list', times: 0 }]);
      await world.until('it is well again', () => condition()?.status === 'True');
    });
  });
});

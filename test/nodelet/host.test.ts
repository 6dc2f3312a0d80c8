import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { findCondition } from '../../resources/meta/condition.ts';
import { NodeletWorld } from './nodelet-world.ts';

describe('nodelet: its Host', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

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
    assert.deepEqual([host?.status?.os, host?.status?.chip, host?.status?.nested], ['darwin', 'simulated', true]);
    assert.deepEqual(host?.status?.macosSlots, { total: 2, used: 0, leaked: 0 });
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
    await world.running('a');
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
    await world.running('a');
    await world.driver.inject([{ fault: 'FailedOperation', operation: 'List', times: 40 }]);
    const condition = () => {
      const host = world.host();
      return host && findCondition(host, 'DriverReady');
    };
    await world.until('it says so', () => condition()?.status === 'False');
    assert.match(condition()?.message ?? '', /told to fail this list/);
    assert.equal(world.host()?.status?.capacity?.memory, '16Gi');
    assert.ok(world.isReady('a'));
    world.driver.heal();
    await world.until('it is well again', () => condition()?.status === 'True');
  });
});

import assert from 'node:assert/strict';
import { Host } from '../../../resources/kinds/host.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';

async function aFleet(): Promise<Fleet> {
  const fleet = await Fleet.start();
  await fleet.addHost();
  await fleet.addImage();
  await fleet.addTenant();
  return fleet;
}

describe('the vm-lifecycle duty', () => {
  it('deletes a VM at the end of its ttl and not before, also over a restart', async () => {
    await using fleet = await aFleet();
    await fleet.addVM('short', { ttl: '1h' });
    await fleet.addVM('long', { ttl: '30h' });
    fleet.startControllers('vm-lifecycle');
    await fleet.clock.advance(1_800_000);
    await fleet.stopControllers();
    fleet.startControllers('vm-lifecycle');
    await quiesce();
    await fleet.clock.advance(1_799_000);
    await quiesce();
    assert.notEqual(fleet.vm('short'), undefined);
    await fleet.clock.advance(1_000);
    await quiesce();
    assert.deepEqual([fleet.vm('short'), fleet.vm('long')?.metadata.name], [undefined, 'long']);
    // Longer than a day, which is as long as a key is put off at once.
    await fleet.clock.advance(29 * 3_600_000 - 1_000);
    await quiesce();
    assert.notEqual(fleet.vm('long'), undefined);
    await fleet.clock.advance(1_000);
    await quiesce();
    assert.equal(fleet.vm('long'), undefined);
  });

  it('lets a deleted VM go that never had a host, and leaves one on a host to its nodelet', async () => {
    await using fleet = await aFleet();
    await fleet.addVM('free');
    await fleet.addVM('bound', { hostName: 'mac-1', epoch: 1 });
    fleet.startControllers('vm-lifecycle');
    for (const name of ['free', 'bound']) await fleet.resource<VM>(VM, 'red').delete(name);
    await fleet.eventually('released', () => fleet.vm('free') === undefined);
    await fleet.clock.advance(60_000);
    await quiesce();
    assert.notEqual(fleet.vm('bound'), undefined);
    const hosts = fleet.resource<Host>(Host);
    await hosts.patch('mac-1', { status: { conditions: [] } }, { subresource: 'status' });
    await hosts.delete('mac-1');
    await fleet.eventually('released with its host', () => fleet.vm('bound') === undefined);
  });
});

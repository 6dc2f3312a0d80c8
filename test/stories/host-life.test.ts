import assert from 'node:assert/strict';
import { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const DUTIES = [
  ...(['tenant', 'host-liveness', 'image', 'scrub', 'lease'] as const),
  ...(['placement', 'vm-lifecycle', 'garbage'] as const),
];
/** What a silent host is given after its heartbeat was due. */
const GRACE = '40s';

/** A Mac that is heard, with a VM of acme on it. */
async function aMacAtWork(): Promise<FleetWorld> {
  const world = await FleetWorld.start();
  await world.tenant('acme');
  await world.mac('mini');
  await world.runs('acme/web', { image: 'linux' });
  await world.stopControllers();
  await world.fleet.heartbeat('mini');
  world.startControllers(...DUTIES);
  await isHeard(world, 1);
  assert.equal(`${hostReady(world)}, ${vmTells(world)}`, 'True NodeletReady, Running Running');
  return world;
}

/** Minutes in which the Mac is heard. */
async function isHeard(world: FleetWorld, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await world.fleet.heartbeat('mini');
    await world.passes('60s');
  }
  await world.fleet.heartbeat('mini');
  await world.settles();
}

/** Lets a little time pass in which the Mac is heard, until something holds. */
async function untilHeard(world: FleetWorld, what: string, holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100; turn++) {
    await world.fleet.heartbeat('mini');
    await world.settles();
    if (holds()) return;
  }
  assert.fail(`never came true: ${what}`);
}

const hostReady = (world: FleetWorld) => {
  const ready = findCondition(world.host('mini'), 'Ready');
  return `${ready?.status} ${ready?.reason}`;
};
const vmTells = (world: FleetWorld) => {
  const vm = world.vm('acme/web');
  return vm === undefined ? 'gone' : `${vm.status?.phase} ${findCondition(vm, 'Ready')?.reason}`;
};
const guestID = (world: FleetWorld) => world.vm('acme/web')?.spec.guestID ?? world.vm('acme/web')?.metadata.uid ?? '';

describe('the story of a host', function () {
  this.timeout(60_000);

  it('that is cut off and comes back: its guest ran on, its VM was never Failed', async () => {
    await using world = await aMacAtWork();
    await world.stopNodelet('mini');
    await world.passes('60s');
    assert.equal(hostReady(world), 'True NodeletReady');
    await world.passes(GRACE);
    await world.until('it is silent', () => hostReady(world) === 'Unknown NodeletSilent');
    await world.until('its VM says so', () => vmTells(world) === 'Running HostUnreachable');
    await world.passes('3h');
    assert.equal(vmTells(world), 'Running HostUnreachable');
    world.startNodelet('mini');
    await isHeard(world, 1);
    assert.equal(hostReady(world), 'True NodeletReady');
    await untilHeard(world, 'its VM is back', () => vmTells(world) === 'Running Running');
    assert.deepEqual([...world.guestsOn('mini').keys()], [guestID(world)]);
    assert.equal(world.host('mini').status?.orphans?.length, 0);
  });

  it('is not judged for the ten minutes in which the control plane was away', async () => {
    await using world = await aMacAtWork();
    const seen: string[] = [];
    await world.stopControllers();
    await world.passes('10m');
    world.startControllers(...DUTIES);
    // A whole grace period before anybody is judged: the Mac needs a moment to find the servers again.
    for (let second = 0; second < 30; second += 5) {
      await world.passes('5s');
      seen.push(`${hostReady(world)}, ${vmTells(world)}`);
    }
    await isHeard(world, 2);
    seen.push(`${hostReady(world)}, ${vmTells(world)}`);
    assert.deepEqual([...new Set(seen)], ['True NodeletReady, Running Running']);
    assert.deepEqual([...world.guestsOn('mini').keys()], [guestID(world)]);
  });

  it('that is forgotten: its VM is lost for good, and its guest is an orphan when the machine comes back', async () => {
    await using world = await aMacAtWork();
    const id = guestID(world);
    const refused = await world.request('DELETE', 'hosts/mini');
    assert.equal(refused.status, 403);
    assert.match(refused.body.message ?? '', /acme\/web.*coppice host forget mini --force$/);
    await world.stopNodelet('mini');
    await world.passes('2m');
    await world.until('it is silent', () => hostReady(world) === 'Unknown NodeletSilent');
    const { uid } = world.host('mini').metadata;
    assert.equal((await world.request('DELETE', 'hosts/mini')).status, 200);
    await world.until('its VM is lost', () => vmTells(world) === 'Failed HostLost');

    world.startNodelet('mini');
    await world.until('it is another host', () => world.fleet.find<Host>(Host, 'mini')?.status?.orphans?.length === 1);
    assert.notEqual(world.host('mini').metadata.uid, uid);
    assert.deepEqual(world.host('mini').status?.orphans, [{ id, label: 'acme/web', power: 'Running' }]);
    assert.equal(world.host('mini').status?.allocatable?.memory, '15Gi');
    await isHeard(world, 5);
    assert.equal(vmTells(world), 'Failed HostLost');
    assert.equal(world.guestsOn('mini').size, 1);

    await world.fleet.resource<VM>(VM, 'acme').delete('web');
    await world.until('the VM goes, without its guest', () => vmTells(world) === 'gone');
    assert.equal(world.guestsOn('mini').size, 1);
    await world.request('PATCH', 'hosts/mini', { spec: { removeOrphans: [id] } });
    await world.until('the guest goes', () => world.host('mini').status?.orphans?.length === 0);
    assert.deepEqual([world.guestsOn('mini').size, world.host('mini').status?.allocatable?.memory], [0, '16Gi']);
  });

  it('that is forgotten while it is heard, by force: the same, though its nodelet is back at once', async () => {
    await using world = await aMacAtWork();
    await world.request('PATCH', 'hosts/mini', { spec: { forget: true } });
    assert.equal((await world.request('DELETE', 'hosts/mini')).status, 200);
    await world.until('it is a host again', () => world.fleet.find<Host>(Host, 'mini')?.status?.orphans?.length === 1);
    await world.until('its VM is lost', () => vmTells(world) === 'Failed HostLost');
    await isHeard(world, 2);
    assert.equal(vmTells(world), 'Failed HostLost');
    assert.equal(world.host('mini').spec.forget, undefined);
    assert.equal(world.guestsOn('mini').size, 1);
  });

  it('that is forgotten with a lessee on it: it is free for nobody before a scrub, however often it is made anew', async () => {
    await using world = await aMacAtWork();
    await world.tenant('beta');
    await world.asks({ allowBusy: true });
    await world.until('acme has it', () => world.hostTells('mini') === 'leased to acme');
    await world.request('PATCH', 'hosts/mini', { spec: { forget: true } });
    assert.equal((await world.request('DELETE', 'hosts/mini')).status, 200);
    const isThere = () => world.fleet.find<Host>(Host, 'mini')?.status?.orphans?.length === 1;
    await world.until('it is a host again', isThere);
    await isHeard(world, 2);
    const said = findCondition(world.host('mini'), 'ScrubPending');
    assert.deepEqual([said?.status, said?.reason], ['True', 'MadeAnew']);
    assert.match(said?.message ?? '', /given up while it was leased to acme \(ci\)/);
    await world.create(VM, { metadata: { name: 'side', namespace: 'beta' }, spec: { image: 'linux', size: 'small' } });
    await world.asks({}, 'beta/wants');
    await isHeard(world, 2);
    assert.deepEqual(
      [world.vm('beta/side')?.spec.hostName, world.tells('beta/wants')],
      [undefined, 'Pending (ScrubPending)'],
    );

    const refused = await world.request('DELETE', 'hosts/mini');
    assert.deepEqual([refused.status, refused.body.details?.causes?.[0]?.reason], [403, 'ScrubPending']);
    assert.match(refused.body.message ?? '', /waits for a scrub; .* coppice scrub mini/);
    const { uid } = world.host('mini').metadata;
    await world.request('PATCH', 'hosts/mini', { spec: { forget: true } });
    assert.equal((await world.request('DELETE', 'hosts/mini')).status, 200);
    await world.until('it is another again', () => isThere() && world.host('mini').metadata.uid !== uid);
    assert.equal(world.hostTells('mini'), 'waits for a scrub');

    const scrub = { requestedAt: '2026-03-01T23:00:00Z', force: true };
    await world.request('PATCH', 'hosts/mini', { spec: { scrub } });
    await untilHeard(world, 'it is clear', () => findCondition(world.host('mini'), 'ScrubPending')?.status === 'False');
    await untilHeard(
      world,
      'beta gets on',
      () => world.hostTells('mini') === 'leased to beta' || world.vm('beta/side')?.spec.hostName === 'mini',
    );
  });

  it('that is deleted when it is clear begins anew as a free one', async () => {
    await using world = await aMacAtWork();
    await world.fleet.resource<VM>(VM, 'acme').delete('web');
    await world.until('its guest is gone', () => vmTells(world) === 'gone');
    const { uid } = world.host('mini').metadata;
    assert.equal((await world.request('DELETE', 'hosts/mini')).status, 200);
    await world.until(
      'it is another',
      () => ![undefined, uid].includes(world.fleet.find<Host>(Host, 'mini')?.metadata.uid),
    );
    assert.equal(world.hostTells('mini'), 'free');
  });

  it('takes nothing new while it is cordoned or waits for a scrub, and says which', async () => {
    await using world = await aMacAtWork();
    const schedulable = () => {
      const said = findCondition(world.host('mini'), 'Schedulable');
      return `${said?.status} ${said?.reason}`;
    };
    assert.equal(schedulable(), 'True Open');
    await world.request('PATCH', 'hosts/mini', { spec: { cordoned: true } });
    await untilHeard(world, 'it says so', () => schedulable() === 'False Cordoned');
    assert.equal(vmTells(world), 'Running Running');
    await world.request('PATCH', 'hosts/mini', {
      spec: { cordoned: null, scrub: { requestedAt: '2026-03-01T12:00:00Z', force: true } },
    });
    await world.until('it says so', () => schedulable() === 'False ScrubPending');
    await untilHeard(world, 'it is open again', () => schedulable() === 'True Open');
    assert.equal(vmTells(world), 'gone');
  });
});

import assert from 'node:assert/strict';
import type { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { keeps, tells } from '../harness/pool-story.ts';
import type { RawAnswer } from '../harness/raw.ts';

const SMALL = { vcpus: 1, memory: '2Gi' };
const linux = (spec: Partial<VM['spec']> = {}): Partial<VM['spec']> => ({ image: 'linux', size: SMALL, ...spec });

/** A fleet with two tenants and these Macs. */
async function aFleet(...macs: readonly string[]): Promise<FleetWorld> {
  const world = await FleetWorld.start();
  for (const name of ['acme', 'beta']) await world.tenant(name);
  for (const name of macs) await world.mac(name);
  return world;
}

/** VM `web` of acme, which may be moved, runs on `old`; `new` is beside it. */
async function aMovableVM(spec: Partial<VM['spec']> = {}, ...others: readonly string[]): Promise<FleetWorld> {
  const world = await aFleet('old');
  await world.runs('acme/web', linux({ reschedulable: true, ...spec }));
  for (const name of others) await world.mac(name);
  return world;
}

/** As somebody patches it; answers what they are told. */
async function drains(
  world: FleetWorld,
  host: string,
  drain: Partial<NonNullable<Host['spec']['drain']>> | null,
): Promise<RawAnswer> {
  return world.request('PATCH', `hosts/${host}`, { spec: drain === null ? { drain, cordoned: null } : { drain } });
}

/** A drain in a line: whether it is done and why, VMs that go, move and stay, and those that wait. */
function told(world: FleetWorld, host: string): string {
  const { status } = world.host(host);
  const drained = findCondition(world.host(host), 'Drained');
  if (drained === undefined) return status?.drain === undefined ? 'not drained' : 'odd';
  const { evicting = 0, rescheduling = 0, kept = 0, waiting = [] } = status?.drain ?? {};
  const waits = waiting.map(({ vm, reason }) => ` | ${vm}: ${reason}`).join('');
  return `${drained.status} ${drained.reason} ${evicting}/${rescheduling}/${kept}${waits}`;
}

const placeOf = (world: FleetWorld, key = 'acme/web') => world.vm(key)?.spec.hostName;
const standIns = (world: FleetWorld) => world.fleet.all<VM>(VM).filter(({ spec }) => spec.standsInFor !== undefined);
const isReady = (world: FleetWorld, key = 'acme/web') => {
  const vm = world.vm(key);
  return vm !== undefined && findCondition(vm, 'Ready')?.status === 'True';
};
/** Each Mac with the names of the guests on it. */
const guests = (world: FleetWorld, ...macs: readonly string[]) =>
  macs.map((mac) => `${mac}: ${[...world.guestsOn(mac).values()].map(({ spec }) => spec.label).join(' ')}`.trim());

describe('the story of a host that is drained', function () {
  this.timeout(60_000);

  it('keeps all with mode Cordon, takes no other, and says so at once', async () => {
    await using world = await aMovableVM({ ttl: '8h' });
    assert.equal((await drains(world, 'old', {})).status, 200);
    assert.deepEqual(world.host('old').spec, { group: 'default', cordoned: true, drain: { mode: 'Cordon' } });
    await world.until('it is told', () => told(world, 'old') === 'True Cordoned 0/0/1');
    await world.asks({ hostName: 'old' }, 'beta/ci');
    await world.until('a lease of it waits', () => world.lease('beta/ci')?.status?.phase === 'Pending');
    await world.create(VM, { metadata: { name: 'late', namespace: 'acme' }, spec: linux() });
    await world.until('a VM waits', () => world.vm('acme/late')?.status?.placement !== undefined);
    assert.deepEqual(world.vm('acme/late')?.status?.placement?.turnedDown, [{ reason: 'Draining', hosts: 1 }]);

    // Without the drain it is cordoned still; without both it takes VMs.
    await world.request('PATCH', 'hosts/old', { spec: { drain: null } });
    await world.until('the drain is over', () => told(world, 'old') === 'not drained');
    assert.equal(world.host('old').spec.cordoned, true);
    await world.request('PATCH', 'hosts/old', { spec: { cordoned: null } });
    await world.until('the VM runs', () => isReady(world, 'acme/late'));
  });

  it('deletes what is ephemeral with mode EvictEphemeral, and keeps all else', async () => {
    await using world = await aMovableVM();
    await world.runs('acme/job', linux({ ttl: '8h' }));
    await world.runs('beta/pet', linux());
    const labels = { 'coppice.dev/ephemeral': 'true' };
    await world.create(VM, { metadata: { name: 'tmp', namespace: 'beta', labels }, spec: linux() });
    await world.until('it runs', () => isReady(world, 'beta/tmp'));
    await drains(world, 'old', { mode: 'EvictEphemeral' });
    await world.until('it is drained', () => told(world, 'old') === 'True KeptRemain 0/0/2');
    assert.match(findCondition(world.host('old'), 'Drained')?.message ?? '', /2 VMs stay, which mode EvictEphemeral/);
    await world.until('they are gone', () => world.vm('acme/job') === undefined && world.vm('beta/tmp') === undefined);
    assert.deepEqual(guests(world, 'old'), ['old: acme/web beta/pet']);
  });

  it('moves who may be moved: started elsewhere first, the same object, and the old guest goes', async () => {
    await using world = await aMovableVM({}, 'new');
    const before = world.vm('acme/web');
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it is drained', () => told(world, 'old') === 'True Empty 0/0/0');
    const after = world.vm('acme/web');
    assert.equal(after?.metadata.uid, before?.metadata.uid);
    assert.equal(after?.spec.epoch, (before?.spec.epoch ?? 0) + 1);
    assert.deepEqual(guests(world, 'old', 'new'), ['old:', 'new: acme/web']);
    await world.until(
      'all is told',
      () => world.vm('acme/web')?.status?.observedGeneration === after?.metadata.generation,
    );
    const { host, hostUID, phase, guest, placement } = world.vm('acme/web')?.status ?? {};
    assert.deepEqual(
      { host, hostUID, phase, guest, placement: placement?.host },
      {
        ...{ host: 'new', hostUID: world.host('new').metadata.uid, phase: 'Running', placement: 'new' },
        guest: { id: after?.spec.guestID, power: 'Running', epoch: after?.spec.epoch },
      },
    );
    await world.until('nothing is left of the move', () => standIns(world).length === 0);

    // It is stopped and started there as any other, and can be moved back.
    await world.request('PATCH', 'namespaces/acme/vms/web', { spec: { power: 'Stopped' } });
    await world.until('it is off', () => world.vm('acme/web')?.status?.phase === 'Stopped');
    await world.request('PATCH', 'namespaces/acme/vms/web', { spec: { power: 'Running' } });
    await world.until('it is on', () => isReady(world));
    await drains(world, 'old', null);
    await drains(world, 'new', { mode: 'Reschedule' });
    await world.until('it is back', () => told(world, 'new') === 'True Empty 0/0/0');
    assert.deepEqual(guests(world, 'old', 'new'), ['old: acme/web', 'new:']);
  });

  it('moves one that is off as it is, and one that is paused to be paused again', async () => {
    await using world = await aMovableVM({}, 'new');
    await world.runs('acme/idle', linux({ reschedulable: true }));
    await world.request('PATCH', 'namespaces/acme/vms/web', { spec: { power: 'Stopped' } });
    await world.request('PATCH', 'namespaces/acme/vms/idle', { spec: { power: 'Paused' } });
    const phases = () => ['web', 'idle'].map((name) => world.vm(`acme/${name}`)?.status?.phase).join(' ');
    await world.until('they rest', () => phases() === 'Stopped Paused');
    const hosts = new Set(['web', 'idle'].map((name) => placeOf(world, `acme/${name}`)));
    for (const host of hosts) await drains(world, host ?? '', { mode: 'Reschedule' });
    const third = await world.mac('third');
    assert.equal(third, undefined);
    await world.until('they are moved', () =>
      [...hosts].every((host) => told(world, host ?? '') === 'True Empty 0/0/0'),
    );
    await world.until('they rest again', () => phases() === 'Stopped Paused');
    for (const host of hosts) assert.equal(world.guestsOn(host ?? '').size, 0);
  });

  it('waits where there is no room, leaves the VM as it is, and moves it once there is', async () => {
    await using world = await aMovableVM();
    const before = world.vm('acme/web');
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it waits', () => told(world, 'old').startsWith('False Waiting'));
    assert.equal(told(world, 'old'), 'False Waiting 0/1/0 | acme/web: 0 of 1 hosts fit: 1 Draining');
    await world.passes('3h');
    assert.equal(told(world, 'old'), 'False Waiting 0/1/0 | acme/web: 0 of 1 hosts fit: 1 Draining');
    assert.deepEqual(world.vm('acme/web'), before);
    await world.mac('new');
    await world.until('it is moved', () => told(world, 'old') === 'True Empty 0/0/0');
    assert.deepEqual(guests(world, 'old', 'new'), ['old:', 'new: acme/web']);
  });

  it('ended midway leaves its VMs where they are, and nothing behind', async () => {
    await using world = await aMovableVM();
    const before = world.vm('acme/web');
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it waits', () => told(world, 'old').startsWith('False Waiting'));
    assert.equal(standIns(world).length, 1);
    await drains(world, 'old', null);
    await world.until('it is over', () => told(world, 'old') === 'not drained' && standIns(world).length === 0);
    await world.mac('new');
    await world.passes('10m');
    assert.deepEqual(world.vm('acme/web'), before);
    assert.deepEqual(guests(world, 'old', 'new'), ['old: acme/web', 'new:']);
  });

  it('ended while the stand-in comes up, likewise', async () => {
    await using world = await aMovableVM({}, 'new');
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it comes up', () => world.guestsOn('new').size === 1);
    await drains(world, 'old', null);
    await world.until('it is over', () => standIns(world).length === 0);
    assert.deepEqual([placeOf(world), isReady(world)], ['old', true]);
    assert.deepEqual(guests(world, 'old', 'new'), ['old: acme/web', 'new:']);
  });

  it('ended at the moment at which a VM would be deleted keeps it', async () => {
    await using world = await aMovableVM({ ttl: '8h' });
    let ended = false;
    world.fleet.onRequest = async (identity, { method, path }) => {
      if (ended || identity !== 'system:controller:drain' || method !== 'GET' || !path.endsWith('/hosts/old')) return;
      ended = true;
      await drains(world, 'old', null);
    };
    await drains(world, 'old', { mode: 'EvictEphemeral' });
    await world.until('it is over', () => ended && told(world, 'old') === 'not drained');
    await world.passes('1m');
    assert.equal(world.vm('acme/web')?.metadata.deletionTimestamp, undefined);
    assert.equal(isReady(world), true);
  });

  it('takes the warm guests of a pool along with what is ephemeral, and the pool has others elsewhere', async () => {
    await using world = await aFleet('old');
    await keeps(world, { replicas: 2, size: SMALL });
    await world.until('it is warm', () => world.guestsOn('old').size === 2 && tells(world).startsWith('2 of 2'));
    await world.mac('new');
    await drains(world, 'old', { mode: 'EvictEphemeral' });
    await world.until('it is drained', () => told(world, 'old') === 'True Empty 0/0/0');
    await world.until('it is warm again', () => world.guestsOn('new').size === 2 && tells(world).startsWith('2 of 2'));
    assert.equal(world.guestsOn('old').size, 0);
  });

  it('changed to another mode midway goes on with that', async () => {
    await using world = await aMovableVM({ ttl: '99h' });
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it waits', () => told(world, 'old').startsWith('False Waiting'));
    await drains(world, 'old', { mode: 'Cordon' });
    await world.until('it is drained', () => told(world, 'old') === 'True Cordoned 0/0/1');
    await world.until('no stand-in is left', () => standIns(world).length === 0);
    await drains(world, 'old', { mode: 'EvictEphemeral' });
    await world.until('it is empty', () => told(world, 'old') === 'True Empty 0/0/0');
    assert.equal(world.guestsOn('old').size, 0);
  });
});

describe('the story of a leased host that is drained', function () {
  this.timeout(60_000);

  it('is refused without force, which changes nothing, and says what it would break', async () => {
    await using world = await aFleet('old');
    await world.asks();
    await world.until('acme has it', () => world.hostTells('old') === 'leased to acme');
    const { resourceVersion } = world.host('old').metadata;
    for (const mode of ['Cordon', 'EvictEphemeral', 'Reschedule'] as const) {
      const refused = await drains(world, 'old', { mode });
      assert.equal(refused.status, 403);
      assert.match(refused.body.message ?? '', /leased to acme \(lease ci\), until .* spec\.drain\.force: .*--force$/);
      assert.equal(refused.body.details?.causes?.[0]?.reason, 'HostLeased');
    }
    assert.deepEqual(
      [world.host('old').spec, world.host('old').metadata.resourceVersion],
      [{ group: 'default' }, resourceVersion],
    );
  });

  it('forced, moves macOS VMs only to another Mac that the tenant leases', async () => {
    await using world = await aFleet('old', 'other');
    await world.asks({ hostName: 'old' });
    await world.until('acme has it', () => world.hostTells('old') === 'leased to acme');
    await world.runs('acme/mac', { reschedulable: true, size: SMALL });
    assert.equal((await drains(world, 'old', { mode: 'Reschedule', force: true })).status, 200);
    await world.until('it waits', () => told(world, 'old').startsWith('False Waiting'));
    assert.match(told(world, 'old'), /acme\/mac: 0 of 2 hosts fit: 1 LeaseRequired, 1 Draining$/);
    await world.asks({ hostName: 'other' }, 'acme/more');
    await world.until('it is moved', () => told(world, 'old') === 'True Empty 0/0/0');
    assert.deepEqual(guests(world, 'old', 'other'), ['old:', 'other: acme/mac']);
    assert.equal(world.hostTells('old'), 'leased to acme');
    // The force is not taken back unsaid.
    assert.equal((await drains(world, 'old', { mode: 'Cordon', force: false })).status, 403);
  });
});

describe('the story of a move', function () {
  this.timeout(60_000);

  it('counts once against a quota that is full, and the tenant cannot have more meanwhile', async () => {
    await using world = await aMovableVM();
    const quota = { maxVMs: 1, maxVCPUs: 1, maxMemory: '2Gi' };
    await world.request('PATCH', 'tenants/acme', { spec: { quota } });
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it waits', () => told(world, 'old').startsWith('False Waiting'));
    const more = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: 'more' }, spec: linux() };
    assert.equal((await world.request('POST', 'namespaces/acme/vms', more)).status, 403);
    await world.mac('new');
    await world.until('it is moved', () => told(world, 'old') === 'True Empty 0/0/0');
    const { used } = world.fleet.find((await import('../../resources/kinds/tenant.ts')).Tenant, 'acme')?.status ?? {};
    assert.deepEqual([used?.vms, used?.vcpus, used?.memory], [1, 1, '2Gi']);
    assert.equal((await world.request('POST', 'namespaces/acme/vms', more)).status, 403);
  });

  it('of a VM that is deleted meanwhile ends with it', async () => {
    await using world = await aMovableVM();
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it waits', () => standIns(world).length === 1 && told(world, 'old').startsWith('False Waiting'));
    await world.request('DELETE', 'namespaces/acme/vms/web');
    await world.until('both are gone', () => world.fleet.all<VM>(VM).length === 0);
    await world.until('it is empty', () => told(world, 'old') === 'True Empty 0/0/0');
    assert.equal(world.guestsOn('old').size, 0);
  });

  it('of a VM that is switched off meanwhile begins anew with one that is off', async () => {
    await using world = await aMovableVM();
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it waits', () => standIns(world).length === 1);
    await world.request('PATCH', 'namespaces/acme/vms/web', { spec: { power: 'Stopped' } });
    await world.until('another stands in', () => standIns(world)[0]?.spec.power === 'Stopped');
    await world.mac('new');
    await world.until('it is moved', () => told(world, 'old') === 'True Empty 0/0/0');
    assert.equal(world.vm('acme/web')?.status?.phase, 'Stopped');
    assert.deepEqual(guests(world, 'old', 'new'), ['old:', 'new:']);
  });

  it('to a host that does not start the guest is tried again, less and less often, and is told', async () => {
    await using world = await aMovableVM({}, 'new');
    await world.stopNodelet('new');
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it is bound', () => standIns(world)[0]?.spec.hostName === 'new');
    assert.equal(told(world, 'old'), 'False InProgress 0/1/0');
    await world.passes('11m');
    await world.until('it is given up', () => told(world, 'old').includes('tried once'));
    assert.match(told(world, 'old'), /it was not ready on new after 10 minutes: .*; tried once, again at 2026-03-01T/);
    assert.deepEqual([placeOf(world), isReady(world)], ['old', true]);
    world.startNodelet('new');
    await world.until('it is moved', () => told(world, 'old') === 'True Empty 0/0/0');
    await world.until('nothing is left of it', () => standIns(world).length === 0);
    assert.deepEqual(guests(world, 'old', 'new'), ['old:', 'new: acme/web']);
  });

  it('to a host that is drained or lost meanwhile goes to another', async () => {
    for (const change of ['drained', 'lost'] as const) {
      await using world = await aMovableVM({}, 'new');
      await world.stopNodelet('new');
      await drains(world, 'old', { mode: 'Reschedule' });
      await world.until('it is bound', () => standIns(world)[0]?.spec.hostName === 'new');
      await world.mac('third');
      if (change === 'drained') await drains(world, 'new', { mode: 'Cordon' });
      else await world.ready('new', 'Unknown');
      await world.until('it is moved', () => told(world, 'old') === 'True Empty 0/0/0');
      assert.equal(placeOf(world), 'third');
      world.startNodelet('new');
      await world.until('nothing is left of the first try', () => standIns(world).length === 0);
      assert.deepEqual(guests(world, 'old', 'new', 'third'), ['old:', 'new:', 'third: acme/web']);
    }
  });

  it('from a host that dies meanwhile goes on; what is left there goes when it is back', async () => {
    await using world = await aMovableVM();
    await world.runs('acme/job', linux({ ttl: '8h' }));
    await world.stopNodelet('old');
    await world.ready('old', 'Unknown');
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.mac('new');
    await world.until('it is moved', () => placeOf(world) === 'new');
    assert.equal(isReady(world), true);
    await world.passes('1h');
    assert.match(
      told(world, 'old'),
      /^False Waiting 2\/0\/0 \| acme\/job: host old is not heard.* \| acme\/web-move-1: host old/,
    );
    assert.deepEqual(guests(world, 'old', 'new'), ['old: acme/web acme/job', 'new: acme/web']);
    world.startNodelet('old');
    await world.ready('old', 'True');
    await world.until('it is drained', () => told(world, 'old') === 'True Empty 0/0/0');
    assert.deepEqual(guests(world, 'old', 'new'), ['old:', 'new: acme/web']);
  });

  it('from a host that is forgotten meanwhile stands', async () => {
    await using world = await aMovableVM({}, 'new');
    await world.stopNodelet('old');
    await drains(world, 'old', { mode: 'Reschedule' });
    await world.until('it is moved', () => placeOf(world) === 'new');
    await world.stopControllers();
    world.startControllers('tenant', 'host-liveness', 'drain', 'vm-lifecycle', 'garbage');
    await world.request('PATCH', 'hosts/old', { spec: { forget: true } });
    assert.equal((await world.request('DELETE', 'hosts/old')).status, 200);
    await world.until('nothing is left of it', () => standIns(world).length === 0);
    assert.equal(placeOf(world), 'new');
  });
});

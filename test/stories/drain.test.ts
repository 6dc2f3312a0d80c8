import assert from 'node:assert/strict';
import type { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const SMALL = { vcpus: 1, memory: '2Gi' };

/** A fleet with two tenants and these Macs. */
async function aFleet(...macs: readonly string[]): Promise<FleetWorld> {
  const world = await FleetWorld.start();
  for (const name of ['acme', 'beta']) await world.tenant(name);
  for (const name of macs) await world.mac(name);
  return world;
}

const linux = (spec: Partial<VM['spec']> = {}): Partial<VM['spec']> => ({ image: 'linux', size: SMALL, ...spec });

/** As somebody patches it; answers what they are told. */
async function asks(world: FleetWorld, host: string, drain: Partial<NonNullable<Host['spec']['drain']>> | null) {
  return world.request('PATCH', `hosts/${host}`, { spec: { drain } });
}

/** A drain in a line: whether it is done and why, and the VMs that wait. */
function told(world: FleetWorld, host: string): string {
  const { status } = world.host(host);
  const drained = findCondition(world.host(host), 'Drained');
  if (drained === undefined) return 'not drained';
  const { evicting = 0, rescheduling = 0, kept = 0, waiting = [] } = status?.drain ?? {};
  const waits = waiting.map(({ vm, reason }) => ` | ${vm}: ${reason}`).join('');
  return `${drained.status} ${drained.reason} ${evicting}/${rescheduling}/${kept}${waits}`;
}

const placeOf = (world: FleetWorld, key: string) => world.vm(key)?.spec.hostName;

describe('the story of a host that is drained', function () {
  this.timeout(60_000);

  it('keeps all with mode Cordon, takes no other, and says so at once', async () => {
    await using world = await aFleet('old');
    await world.runs('acme/web', linux({ ttl: '8h', reschedulable: true }));
    assert.equal((await asks(world, 'old', {})).status, 200);
    assert.deepEqual(world.host('old').spec, { group: 'default', cordoned: true, drain: { mode: 'Cordon' } });
    await world.until('it is told', () => told(world, 'old') === 'True Cordoned 0/0/1');
    await world.asks({ hostName: 'old' }, 'beta/ci');
    await world.until('a lease of it waits', () => world.lease('beta/ci')?.status?.phase === 'Pending');
    const another = { metadata: { name: 'late', namespace: 'acme' }, spec: linux() };
    await world.create((await import('../../resources/kinds/vm.ts')).VM, another);
    await world.until('a VM waits', () => world.vm('acme/late')?.status?.placement !== undefined);
    assert.deepEqual(world.vm('acme/late')?.status?.placement?.turnedDown, [{ reason: 'Draining', hosts: 1 }]);
  });

  it('moves who may be moved: started elsewhere first, the same object, and the old guest goes', async () => {
    await using world = await aFleet('old', 'new');
    await world.request('PATCH', 'hosts/new', { spec: { cordoned: true } });
    const before = await world.runs('acme/web', linux({ reschedulable: true }));
    await world.runs('acme/pet', linux());
    await world.runs('acme/job', linux({ ttl: '8h' }));
    await world.request('PATCH', 'hosts/new', { spec: { cordoned: null } });
    assert.equal((await asks(world, 'old', { mode: 'Reschedule' })).status, 200);
    await world.until('it is drained', () => told(world, 'old') === 'True KeptRemain 0/0/1');
    const after = world.vm('acme/web');
    assert.equal(after?.metadata.uid, before.metadata.uid);
    assert.deepEqual(
      [placeOf(world, 'acme/web'), placeOf(world, 'acme/pet'), world.vm('acme/job')],
      ['new', 'old', undefined],
    );
    assert.equal(after?.spec.epoch, (before.spec.epoch ?? 0) + 1);
    await world.until(
      'its host tells of it',
      () => world.vm('acme/web')?.status?.observedGeneration === world.vm('acme/web')?.metadata.generation,
    );
    assert.equal(world.vm('acme/web')?.status?.host, 'new');
    assert.deepEqual([...world.guestsOn('new').keys()], [after?.spec.guestID]);
    assert.equal(world.guestsOn('old').size, 1);
    assert.equal(world.vm('acme/web-move-1'), undefined);
  });
});

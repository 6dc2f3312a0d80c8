import assert from 'node:assert/strict';
import { readFleet } from '../../cli/read-fleet.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { planMoves, type RebalancePlan } from '../../resources/placement/rebalance.ts';
import { replay } from '../../resources/placement/replay.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const LIMITS = { highWater: 0.85, maxMoves: 10 };

async function read(world: FleetWorld) {
  const fleet = await readFleet(world.fleet.test.client, AbortSignal.timeout(30_000));
  return fleet ?? assert.fail('an operator may see hosts');
}

const planned = async (world: FleetWorld): Promise<RebalancePlan> => planMoves((await read(world)).world, LIMITS);

/** A fleet whose only host is full of Linux VMs. */
async function aFullHost(...sizes: readonly string[]): Promise<FleetWorld> {
  const world = await FleetWorld.start();
  await world.tenant('acme');
  await world.mac('old');
  for (const [n, memory] of sizes.entries()) {
    await world.runs(`acme/v${n}`, { image: 'linux', size: { vcpus: 1, memory }, reschedulable: true });
  }
  return world;
}

describe('the story of a full host', function () {
  this.timeout(60_000);

  it('is relieved by a plan that is followed, after which there is nothing to propose', async () => {
    await using world = await aFullHost('5Gi', '5Gi', '4Gi');
    assert.deepEqual((await planned(world)).moves, []);
    await world.mac('new');
    const { moves, left } = await planned(world);
    assert.deepEqual(left, []);
    assert.deepEqual(
      moves.map(({ vm, from, to }) => `${vm} ${from}>${to}`),
      ['acme/v2 old>new'],
    );
    // Nothing was moved by it.
    assert.equal(world.vm('acme/v2')?.spec.hostName, 'old');

    await world.request('PATCH', 'hosts/old', { spec: { cordoned: true } });
    await world.fleet.resource<VM>(VM, 'acme').delete('v2');
    await world.until('it is gone', () => world.vm('acme/v2') === undefined);
    await world.runs('acme/v2', { image: 'linux', size: { vcpus: 1, memory: '4Gi' } });
    assert.equal(world.vm('acme/v2')?.spec.hostName, 'new');
    await world.request('PATCH', 'hosts/old', { spec: { cordoned: null } });
    const after = await planned(world);
    assert.deepEqual([after.moves, after.left], [[], []]);
  });

  it('stays full where its one large VM would fill the other host as much', async () => {
    await using world = await aFullHost('15Gi');
    await world.mac('new');
    const { moves, left } = await planned(world);
    assert.deepEqual(moves, []);
    assert.deepEqual(
      left.map(({ host }) => host),
      ['old'],
    );
  });
});

describe('the story of a VM that waits for its host', function () {
  this.timeout(60_000);

  it('is told the same by placement and by who asks, until what stood in its way is gone', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.create(VM, { metadata: { name: 'build', namespace: 'acme' }, spec: { image: 'macos' } });
    const placement = () => world.vm('acme/build')?.status?.placement;
    await world.until('it waits', () => placement() !== undefined);
    const { world: seen, hosts } = await read(world);
    const waiting = world.vm('acme/build') ?? assert.fail();
    const now = replay(waiting, seen, hosts);
    assert.deepEqual(now.decision?.placement, placement());
    assert.deepEqual(
      now.hosts.map(({ host, refusal }) => `${host} ${refusal?.filter}`),
      ['mini LeaseRequired'],
    );

    await world.asks();
    await world.until('it runs', () => world.vm('acme/build')?.status?.phase === 'Running');
    assert.deepEqual(placement(), { host: 'mini', why: 'PaidFor', fitting: 1 });
  });
});

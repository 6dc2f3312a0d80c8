import assert from 'node:assert/strict';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import { Random } from '../fuzz/random.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const SEED = Number(process.env.COPPICE_SEED ?? Number.parseInt(systemIds.secret(3), 16));
const MACS = ['mac-1', 'mac-2', 'mac-3'] as const;
const VMS = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
const STEPS = 60;

/** Hosts are drained and let go again, VMs are stopped and started, nodelets and controllers end and begin: whatever the seed says. */
async function step(world: FleetWorld, random: Random, stopped: Set<string>): Promise<void> {
  const mac = random.pick(MACS);
  const drain = (wish: object) => world.request('PATCH', `hosts/${mac}`, { spec: wish });
  const power = (to: string) =>
    world.request('PATCH', `namespaces/acme/vms/${random.pick(VMS)}`, { spec: { power: to } });
  const deeds: readonly (() => unknown)[] = [
    () => drain({ drain: { mode: 'Reschedule' } }),
    () => drain({ drain: { mode: 'Reschedule' } }),
    () => drain({ drain: { mode: 'Cordon' } }),
    () => drain({ drain: null, cordoned: null }),
    () => drain({ drain: null, cordoned: null }),
    () => power('Stopped'),
    () => power('Paused'),
    () => power('Running'),
    () => world.ready(mac, random.oneIn(3) ? 'Unknown' : 'True'),
    async () => {
      if (stopped.has(mac)) world.startNodelet(mac);
      else await world.stopNodelet(mac);
      if (!stopped.delete(mac)) stopped.add(mac);
    },
    async () => {
      await world.stopControllers();
      world.startControllers();
    },
    () => world.passes(`${1 + random.below(900)}s`),
  ];
  await random.pick(deeds)();
  for (let i = random.below(4); i > 0; i--) await world.settles();
}

describe('hosts that are drained at random', () => {
  it('lose no VM, leave no guest behind, and end empty when they are let be', async function () {
    this.timeout(300_000);
    process.stdout.write(`      COPPICE_SEED=${SEED}\n`);
    const random = new Random(SEED);
    await using world = await FleetWorld.start();
    await world.tenant('acme', {
      quota: { maxVMs: VMS.length, maxVCPUs: VMS.length, maxMemory: `${2 * VMS.length}Gi` },
    });
    for (const mac of MACS) await world.mac(mac);
    for (const name of VMS)
      await world.runs(`acme/${name}`, { image: 'linux', size: { vcpus: 1, memory: '2Gi' }, reschedulable: true });
    const uids = new Map(VMS.map((name) => [name, world.vm(`acme/${name}`)?.metadata.uid]));
    const stopped = new Set<string>();
    for (let i = 0; i < STEPS; i++) await step(world, random, stopped);

    for (const mac of stopped) world.startNodelet(mac);
    for (const mac of MACS) {
      await world.ready(mac, 'True');
      await world.request('PATCH', `hosts/${mac}`, { spec: { drain: null, cordoned: null } });
    }
    for (const name of VMS) {
      const started = await world.request('PATCH', `namespaces/acme/vms/${name}`, { spec: { power: 'Running' } });
      assert.equal(started.status, 200, started.text);
    }
    await world.request('PATCH', 'hosts/mac-1', { spec: { drain: { mode: 'Reschedule' } } });
    await world.until('it is drained, and nothing is left of moves', () => {
      return isTrue(world.host('mac-1'), 'Drained') && world.fleet.all<VM>(VM).length === VMS.length;
    });
    await world.until('all run', () => VMS.every((name) => world.vm(`acme/${name}`)?.status?.phase === 'Running'));
    assert.equal(findCondition(world.host('mac-1'), 'Drained')?.reason, 'Empty');
    assert.equal(world.guestsOn('mac-1').size, 0);
    const named = VMS.map((name) => {
      const { metadata, spec } = world.vm(`acme/${name}`) ?? assert.fail(name);
      assert.equal(metadata.uid, uids.get(name));
      return `${spec.hostName} ${spec.guestID}`;
    });
    const moves = VMS.reduce((sum, name) => sum + (world.vm(`acme/${name}`)?.spec.epoch ?? 1) - 1, 0);
    assert.ok(moves > 0, 'nothing was moved');
    const there = MACS.flatMap((mac) => [...world.guestsOn(mac).keys()].map((id) => `${mac} ${id}`));
    assert.deepEqual(there.sort(), named.sort());
  });
});

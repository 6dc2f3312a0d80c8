import assert from 'node:assert/strict';
import { GRACE_MS } from '../../../controllers/host-liveness/decide.ts';
import { Event } from '../../../resources/kinds/event.ts';
import { Host } from '../../../resources/kinds/host.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { findCondition, setConditions } from '../../../resources/meta/condition.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';

const HEARD = '2026-01-01T00:00:00Z';

function ready(fleet: Fleet, name: string): string | undefined {
  const vm = fleet.vm(name);
  const condition = vm && findCondition(vm, 'Ready');
  return condition && `${vm.status?.phase} ${condition.status} ${condition.reason}`;
}

const message = (fleet: Fleet, name: string) => findCondition(fleet.vm(name) ?? assert.fail(), 'Ready')?.message;

async function later(fleet: Fleet, ms: number): Promise<void> {
  await fleet.clock.advance(ms);
  await quiesce();
}

/** What the nodelet of a VM writes of it. */
async function report(fleet: Fleet, name: string): Promise<void> {
  const vm = fleet.vm(name) ?? assert.fail();
  const wanted = { type: 'Ready', status: 'True', reason: 'Running', message: 'the guest runs' } as const;
  const guest = { id: vm.metadata.uid, power: 'Running', epoch: 1 };
  const status = { phase: 'Running', guest, conditions: setConditions(vm, fleet.clock.now(), [wanted]) };
  await fleet.resource<VM>(VM, 'red').patch(name, { status }, { subresource: 'status' });
}

/** Two VMs that run on a host that is heard, and one bound nowhere. */
async function aFleet(): Promise<Fleet> {
  const fleet = await Fleet.start();
  await fleet.addHost();
  await fleet.addImage();
  await fleet.addTenant();
  await fleet.heartbeat('mac-1');
  for (const name of ['a', 'b']) {
    await fleet.addVM(name, { hostName: 'mac-1', epoch: 1 });
    await report(fleet, name);
  }
  await fleet.addVM('nowhere');
  return fleet;
}

async function silence(fleet: Fleet): Promise<void> {
  const host = () => fleet.find<Host>(Host, 'mac-1') ?? assert.fail();
  await fleet.eventually('heard', () => findCondition(host(), 'Ready')?.reason === 'NodeletReady');
  await fleet.heartbeat('mac-1', null);
  await later(fleet, GRACE_MS);
  assert.equal(findCondition(host(), 'Ready')?.reason, 'NodeletSilent');
}

function countWrites(fleet: Fleet): string[] {
  const writes: string[] = [];
  fleet.onRequest = (_, { method, path }) => {
    if (method !== 'GET' && path.includes('/vms/')) writes.push(path);
  };
  return writes;
}

describe('the VMs of a host that is gone', () => {
  it('are Unknown when it is judged silent, which is said once, and their phase stays', async () => {
    await using fleet = await aFleet();
    fleet.startControllers('host-liveness');
    const writes = countWrites(fleet);
    await later(fleet, 30_000);
    assert.deepEqual([ready(fleet, 'a'), writes], ['Running True Running', []]);

    await fleet.heartbeat('mac-1', null);
    const since = fleet.clock.now();
    await later(fleet, GRACE_MS - 1);
    assert.equal(ready(fleet, 'a'), 'Running True Running');
    await later(fleet, 1);
    for (const name of ['a', 'b']) assert.equal(ready(fleet, name), 'Running Unknown HostUnreachable');
    assert.equal(since, Date.parse(HEARD) + 30_000);
    assert.equal(
      message(fleet, 'a'),
      'host mac-1 has not been heard since 2026-01-01T00:00:30Z; what its guest does is not known',
    );
    for (let minute = 0; minute < 5; minute++) await later(fleet, 60_000);
    assert.equal(writes.length, 2, writes.join('\n'));
    assert.equal(ready(fleet, 'nowhere'), undefined);
    const events = fleet.all<Event>(Event).filter(({ reason }) => reason === 'HostUnreachable');
    assert.deepEqual(events.map(({ involvedObject, count }) => `${involvedObject.name} ×${count}`).sort(), [
      'a ×1',
      'b ×1',
    ]);
  });

  it('are their nodelet’s to tell of when it is back, also before its heartbeat is', async () => {
    await using fleet = await aFleet();
    fleet.startControllers('host-liveness');
    await silence(fleet);
    await report(fleet, 'a');
    await later(fleet, 5_000);
    assert.equal(ready(fleet, 'a'), 'Running True Running');
    await fleet.heartbeat('mac-1');
    await report(fleet, 'b');
    for (let minute = 0; minute < 3; minute++) {
      await later(fleet, 30_000);
      await fleet.heartbeat('mac-1');
    }
    for (const name of ['a', 'b']) assert.equal(ready(fleet, name), 'Running True Running');
  });

  it('are Unknown again when the nodelet that spoke stays silent', async () => {
    await using fleet = await aFleet();
    fleet.startControllers('host-liveness');
    await silence(fleet);
    await report(fleet, 'a');
    await later(fleet, GRACE_MS);
    assert.equal(ready(fleet, 'a'), 'Running Unknown HostUnreachable');
  });

  it('keep Ready of the generation there is while nobody else can restamp it', async () => {
    await using fleet = await aFleet();
    fleet.startControllers('host-liveness');
    await silence(fleet);
    await fleet.resource<VM>(VM, 'red').patch('a', { spec: { power: 'Stopped' } });
    await quiesce();
    const vm = fleet.vm('a') ?? assert.fail();
    assert.equal(findCondition(vm, 'Ready')?.observedGeneration, vm.metadata.generation);
    assert.equal(vm.metadata.generation, 2);
  });

  it('say how to get out when they are being deleted, and go or fail when the host is given up', async () => {
    await using fleet = await aFleet();
    fleet.startControllers('host-liveness', 'vm-lifecycle');
    await later(fleet, 0);
    const hosts = fleet.resource<Host>(Host);
    await assert.rejects(hosts.delete('mac-1'), (error: unknown) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.code, error.details?.causes?.[0]?.reason], [403, 'HostInUse']);
      assert.match(
        error.message,
        /2 VMs are bound to it \(red\/a, red\/b\); delete the VMs first, or give the host up, and them with it: coppice host forget mac-1 --force$/,
      );
      return true;
    });

    await silence(fleet);
    await fleet.resource<VM>(VM, 'red').delete('a');
    await quiesce();
    assert.equal(ready(fleet, 'a'), 'Running Unknown HostUnreachable');
    assert.equal(
      message(fleet, 'a'),
      `it is being deleted, but host mac-1 has not been heard since ${HEARD}; to give the host up: kubectl delete host mac-1`,
    );

    await hosts.delete('mac-1');
    await quiesce();
    assert.deepEqual([fleet.vm('a'), ready(fleet, 'b')], [undefined, 'Failed False HostLost']);
    const writes = countWrites(fleet);
    for (let minute = 0; minute < 3; minute++) await later(fleet, 60_000);
    assert.deepEqual(writes, []);
    // What is lost is the tenant's until the tenant lets it go, and then goes at once.
    assert.equal(fleet.test.server.parts.cache.world.tenantUse('red').vms, 2);
    await fleet.resource<VM>(VM, 'red').delete('b');
    await fleet.eventually('let go too', () => fleet.vm('b') === undefined);
    assert.equal(fleet.test.server.parts.cache.world.tenantUse('red').vms, 1);
    assert.deepEqual(fleet.errors, []);
  });

  it('are found lost by a duty that starts after the Host was deleted', async () => {
    await using fleet = await aFleet();
    fleet.startControllers('host-liveness');
    await silence(fleet);
    await fleet.stopControllers();
    await fleet.resource<Host>(Host).delete('mac-1');
    fleet.startControllers('host-liveness');
    await fleet.eventually('lost', () => ready(fleet, 'a') === 'Failed False HostLost');
  });
});

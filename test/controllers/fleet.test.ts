import assert from 'node:assert/strict';
import { DUTY_NAMES } from '../../controllers/duties.ts';
import { Event } from '../../resources/kinds/event.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import { quiesce } from '../harness/eventually.ts';
import { Fleet } from '../harness/fleet.ts';

/** A host, an image, two tenants and three VMs, one of them too large; then one VM and one tenant are deleted. */
async function anEventfulDay(fleet: Fleet): Promise<void> {
  await fleet.addHost({ name: 'mac-1', ready: false });
  await fleet.heartbeat('mac-1');
  await fleet.addImage();
  await fleet.addTenant('red');
  await fleet.addTenant('blue');
  await fleet.addVM('a');
  await fleet.addVM('b', { size: { vcpus: 2, memory: '64Gi' } });
  await fleet.addVM('c', {}, 'blue');
}

async function theDayAfter(fleet: Fleet): Promise<void> {
  await fleet.resource<VM>(VM, 'red').delete('b');
  await fleet.resource<Tenant>(Tenant).delete('blue');
}

/** Removes the finalizer of a deleted bound VM, as its nodelet does when the guest is gone. */
async function playNodelet(fleet: Fleet): Promise<void> {
  for (const vm of fleet.all<VM>(VM)) {
    if (vm.metadata.deletionTimestamp === undefined || vm.spec.hostName === undefined) continue;
    await fleet.resource<VM>(VM, vm.metadata.namespace).patch(vm.metadata.name, { metadata: { finalizers: [] } });
  }
}

/** What must be the same however it came about: everything but names of versions and instants. */
function outcome(fleet: Fleet): unknown {
  const conditions = (o: Parameters<typeof findCondition>[0]) =>
    (o.status?.conditions ?? []).map(({ type, status, reason, message }) => [type, status, reason, message]);
  return {
    namespaces: fleet.all<Namespace>(Namespace).map((o) => o.metadata.name),
    tenants: fleet
      .all<Tenant>(Tenant)
      .map((o) => [o.metadata.name, o.status?.networkIndex, o.status?.used, conditions(o)]),
    hosts: fleet.all<Host>(Host).map((o) => [o.metadata.name, conditions(o)]),
    images: fleet.all<Image>(Image).map((o) => [o.metadata.name, o.status?.digest, o.status?.holders, conditions(o)]),
    vms: fleet
      .all<VM>(VM)
      .map((o) => [o.metadata.name, o.spec.hostName, o.spec.epoch, o.spec.resolved, o.status?.phase, conditions(o)]),
  };
}

const morningIsOver = (fleet: Fleet) =>
  isTrue(fleet.vm('a') ?? aNothing, 'Scheduled') &&
  isTrue(fleet.vm('c', 'blue') ?? aNothing, 'Scheduled') &&
  fleet.find<Tenant>(Tenant, 'blue')?.status?.used?.vms === 1 &&
  fleet.find<Tenant>(Tenant, 'red')?.status?.used?.vms === 2 &&
  findCondition(fleet.vm('b') ?? aNothing, 'Scheduled')?.reason === 'InsufficientMemory';

const dayIsOver = async (fleet: Fleet) => {
  await playNodelet(fleet);
  return (
    fleet.vm('b') === undefined &&
    fleet.find<Tenant>(Tenant, 'blue') === undefined &&
    fleet.find<Namespace>(Namespace, 'blue') === undefined &&
    fleet.find<Tenant>(Tenant, 'red')?.status?.used?.vms === 1
  );
};

const aNothing = {
  apiVersion: '',
  kind: '',
  metadata: { name: '', uid: '', resourceVersion: '', creationTimestamp: '' },
};

describe('the controllers together', () => {
  it('bring a fleet from nothing to placed VMs, and take apart what is deleted', async () => {
    await using fleet = await Fleet.start();
    fleet.startControllers();
    await anEventfulDay(fleet);
    await fleet.eventually('morning', () => morningIsOver(fleet));
    await theDayAfter(fleet);
    await fleet.eventually('evening', () => dayIsOver(fleet));
    assert.equal(isTrue(fleet.find<Host>(Host, 'mac-1') ?? aNothing, 'Schedulable'), true);
    assert.deepEqual(fleet.errors, []);
  });

  it('fall silent when there is nothing to do: no status moves by itself', async () => {
    await using fleet = await Fleet.start();
    const controllers = fleet.startControllers();
    await anEventfulDay(fleet);
    await fleet.eventually('morning', () => morningIsOver(fleet));
    await fleet.clock.advance(5_000);
    await quiesce();
    const writes: string[] = [];
    fleet.onRequest = (identity, { method, path }) => {
      if (method !== 'GET') writes.push(`${identity} ${method} ${path}`);
    };
    for (let minute = 0; minute < 10; minute++) {
      await fleet.heartbeat('mac-1');
      await fleet.clock.advance(60_000);
      await quiesce();
    }
    assert.deepEqual(writes, []);
    assert.deepEqual(
      Object.values(controllers.health.duties).map(({ state, waiting }) => [state, waiting]),
      Array.from(DUTY_NAMES, () => ['running', 0]),
    );
    assert.deepEqual(new Set(Object.values(controllers.health.caches).map(({ synced }) => synced)), new Set([true]));
  });

  it('leave no timer and no request behind when they stop', async () => {
    await using fleet = await Fleet.start();
    await anEventfulDay(fleet);
    const before = fleet.clock.waiting;
    fleet.startControllers();
    await fleet.eventually('morning', () => morningIsOver(fleet));
    await fleet.stopControllers();
    await fleet.clock.advance(5_000);
    await quiesce();
    let requests = 0;
    fleet.onRequest = () => requests++;
    await fleet.clock.advance(600_000);
    await quiesce();
    assert.equal(requests, 0);
    assert.ok(fleet.clock.waiting <= before, `${fleet.clock.waiting} timers, ${before} before`);
  });

  it('end in the same place when they are killed before or after any write and started again', async () => {
    const calm = await runDay(undefined);
    assert.ok(calm.writes > 15, `${calm.writes} writes`);
    for (let at = 0; at < calm.writes; at += 3) {
      for (const when of ['before', 'after'] as const) {
        const { state } = await runDay({ at, when });
        assert.deepEqual(state, calm.state, `killed ${when} write ${at} of ${calm.writes}`);
      }
    }
  }).timeout(60_000);
});

async function runDay(
  kill: { at: number; when: 'before' | 'after' } | undefined,
): Promise<{ state: unknown; writes: number }> {
  await using fleet = await Fleet.start();
  let writes = 0;
  let dead = false;
  let restart: Promise<void> | undefined;
  const die = () => {
    dead = true;
    restart = fleet.stopControllers().then(() => {
      dead = false;
      fleet.startControllers();
    });
    throw new Error('killed');
  };
  const isWrite = (method: string, path: string) => method !== 'GET' && !path.includes('/events');
  fleet.onRequest = (_, { method, path }) => {
    if (dead) throw new Error('dead');
    if (!isWrite(method, path)) return;
    const now = writes++;
    if (kill?.when === 'before' && kill.at === now && restart === undefined) die();
  };
  fleet.onAnswer = (_, { method, path }) => {
    if (kill?.when === 'after' && isWrite(method, path) && writes > kill.at && restart === undefined) die();
  };
  fleet.startControllers();
  await anEventfulDay(fleet);
  await fleet.eventually('morning', () => morningIsOver(fleet));
  await theDayAfter(fleet);
  await fleet.eventually('evening', () => dayIsOver(fleet));
  await restart;
  await fleet.clock.advance(5_000);
  await quiesce();
  return { state: outcome(fleet), writes };
}

describe('what controllers say in Events', () => {
  it('is one Event an occurrence, counted up when it happens again', async () => {
    await using fleet = await Fleet.start();
    fleet.startControllers();
    await anEventfulDay(fleet);
    await fleet.eventually('morning', () => morningIsOver(fleet));
    const reasons = () =>
      fleet
        .all<Event>(Event)
        .map((event) => `${event.involvedObject.kind} ${event.involvedObject.name} ${event.reason}`);
    await fleet.eventually('bound', () => reasons().includes('VM a Scheduled') && reasons().includes('VM c Scheduled'));
    assert.equal(reasons().filter((reason) => reason === 'VM a Scheduled').length, 1);
    await fleet.eventually('told of the host', () => reasons().includes('Host mac-1 NodeletReady'));
  });
});

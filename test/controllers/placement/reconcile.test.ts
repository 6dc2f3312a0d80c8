import assert from 'node:assert/strict';
import { Event } from '../../../resources/kinds/event.ts';
import { Host } from '../../../resources/kinds/host.ts';
import { Image } from '../../../resources/kinds/image.ts';
import { Namespace } from '../../../resources/kinds/namespace.ts';
import { Tenant } from '../../../resources/kinds/tenant.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { findCondition } from '../../../resources/meta/condition.ts';
import { parseBytes } from '../../../resources/meta/quantity.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';

async function aFleet(...hosts: Parameters<Fleet['addHost']>[0][]): Promise<Fleet> {
  const fleet = await Fleet.start();
  for (const host of hosts) await fleet.addHost(host);
  await fleet.addImage();
  await fleet.addTenant();
  return fleet;
}

const scheduled = (fleet: Fleet, name: string) => {
  const vm = fleet.vm(name);
  const condition = vm && findCondition(vm, 'Scheduled');
  return condition && `${condition.status} ${condition.reason}: ${condition.message}`;
};
const boundCount = (fleet: Fleet) => fleet.all<VM>(VM).filter((vm) => vm.spec.hostName !== undefined).length;

describe('the placement duty', () => {
  it('binds, and says so; until the nodelet speaks Ready does not tell of the wait any more', async () => {
    await using fleet = await aFleet();
    fleet.startControllers('placement');
    await fleet.addVM();
    await fleet.eventually('waits', () => scheduled(fleet, 'web')?.includes('NoHosts') === true);
    const waiting = fleet.vm('web');
    assert.equal(waiting?.status?.phase, 'Pending');
    assert.equal(waiting.status.observedGeneration, waiting.metadata.generation);
    assert.equal(findCondition(waiting, 'Ready')?.reason, 'NoHosts');

    await fleet.addHost();
    await fleet.eventually('bound', () => scheduled(fleet, 'web') === 'True Bound: bound to host mac-1');
    const bound = fleet.vm('web') ?? assert.fail();
    assert.deepEqual([bound.spec.hostName, bound.spec.epoch], ['mac-1', 1]);
    assert.equal(findCondition(bound, 'Ready')?.message, 'waits for the nodelet of mac-1');
    assert.deepEqual(fleet.errors, []);
  });

  it('restamps Scheduled when the spec of a bound VM changes, and leaves the rest of its status to the nodelet', async () => {
    await using fleet = await aFleet({});
    fleet.startControllers('placement');
    await fleet.addVM();
    await fleet.eventually('bound', () => scheduled(fleet, 'web')?.startsWith('True') === true);
    const vms = fleet.resource<VM>(VM, 'red');
    const before = fleet.vm('web') ?? assert.fail();
    const conditions = [
      ...(before.status?.conditions ?? []).filter(({ type }) => type !== 'Ready'),
      {
        type: 'Ready',
        status: 'True' as const,
        reason: 'Running',
        message: 'x',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ];
    await vms.patch('web', { status: { phase: 'Running', conditions } }, { subresource: 'status' });
    await vms.patch('web', { spec: { power: 'Stopped' } });
    const stamp = () => findCondition(fleet.vm('web') ?? assert.fail(), 'Scheduled')?.observedGeneration;
    await fleet.eventually('restamped', () => stamp() === fleet.vm('web')?.metadata.generation);
    const after = fleet.vm('web') ?? assert.fail();
    assert.equal(after.status?.phase, 'Running');
    assert.equal(findCondition(after, 'Ready')?.reason, 'Running');
  });

  it('fills a fleet to the brim in a burst, never over it, and tells the rest why in the same pass', async () => {
    await using fleet = await aFleet(...['a', 'b', 'c'].map((name) => ({ name, memory: '8Gi' })));
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => fleet.addVM(`v-${n}`, { size: { vcpus: 1, memory: '1Gi' } })),
    );
    let binds = 0;
    fleet.onRequest = (_, { method, path }) => {
      if (method === 'PATCH' && !path.endsWith('/status')) binds++;
    };
    fleet.startControllers('placement');
    await fleet.eventually('all told', () =>
      fleet.all<VM>(VM).every((vm) => findCondition(vm, 'Scheduled') !== undefined),
    );
    assert.equal(boundCount(fleet), 24);
    // It counts its own bindings before any cache shows them, so the server has none to refuse.
    assert.equal(binds, 24);
    for (const host of ['a', 'b', 'c']) {
      const here = fleet.all<VM>(VM).filter((vm) => vm.spec.hostName === host);
      const used = here.reduce((sum, vm) => sum + (parseBytes(vm.spec.resolved?.memory ?? '0') ?? 0), 0);
      assert.equal(used, parseBytes('8Gi'));
    }
    const left = fleet.all<VM>(VM).find((vm) => vm.spec.hostName === undefined);
    assert.equal(
      findCondition(left ?? assert.fail(), 'Scheduled')?.message,
      '0 of 3 hosts fit: 3 InsufficientMemory (largest free 0, needs 1Gi)',
    );
    assert.deepEqual(fleet.errors, []);
  });

  it('places the next when room is given back', async () => {
    await using fleet = await aFleet({ memory: '4Gi' });
    fleet.startControllers('placement');
    await fleet.addVM('first');
    await fleet.eventually('bound', () => boundCount(fleet) === 1);
    await fleet.addVM('second');
    await fleet.eventually('waits', () => scheduled(fleet, 'second')?.includes('InsufficientMemory') === true);
    await fleet.resource<VM>(VM, 'red').delete('first');
    await fleet.resource<VM>(VM, 'red').patch('first', { metadata: { finalizers: [] } });
    await fleet.eventually('bound', () => fleet.vm('second')?.spec.hostName === 'mac-1');
  });

  it('wakes for a tenant and an image that come late, and admits what waited for them', async () => {
    await using fleet = await Fleet.start();
    await fleet.addHost();
    await fleet
      .resource<Namespace>(Namespace)
      .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'red' } });
    fleet.startControllers('placement');
    await fleet.addVM();
    await fleet.eventually('no tenant', () => scheduled(fleet, 'web')?.includes('TenantNotFound') === true);
    await fleet.addTenant();
    await fleet.eventually('no image', () => scheduled(fleet, 'web')?.includes('ImageNotFound') === true);
    await fleet.addImage({ status: {} });
    await fleet.eventually('not ready', () => scheduled(fleet, 'web')?.includes('ImageNotReady') === true);
    await fleet.resource<Image>(Image).patch('tiny', { status: { digest: 'sha256:aa' } }, { subresource: 'status' });
    await fleet.eventually('bound', () => fleet.vm('web')?.spec.hostName === 'mac-1');
    assert.deepEqual(fleet.vm('web')?.spec.resolved, {
      digest: 'sha256:aa',
      guestOS: 'linux',
      vcpus: 2,
      memory: '4Gi',
    });
  });

  it('waits for quota with its numbers, and goes on when it is raised', async () => {
    await using fleet = await Fleet.start();
    await fleet.addHost();
    await fleet.addImage({ status: {} });
    await fleet.addTenant('red', { quota: { maxVMs: 1 } });
    await fleet.addVM('a');
    await fleet.addVM('b');
    fleet.startControllers('placement');
    await fleet.resource<Image>(Image).patch('tiny', { status: { digest: 'sha256:aa' } }, { subresource: 'status' });
    await fleet.eventually(
      'one bound, one told',
      () => boundCount(fleet) === 1 && scheduled(fleet, 'b')?.includes('Quota') === true,
    );
    assert.equal(scheduled(fleet, 'b'), 'False QuotaExceeded: exceeded quota: maxVMs: requested 1, used 1, limited 1');
    await fleet.resource<Tenant>(Tenant).patch('red', { spec: { quota: { maxVMs: 2 } } });
    await fleet.eventually('bound', () => boundCount(fleet) === 2);
    assert.deepEqual(fleet.errors, []);
  });

  it('tells what the server says when it refuses, asks again with growing waits, and binds when it may', async () => {
    await using fleet = await aFleet({});
    let binds = 0;
    let refusing = true;
    fleet.onRequest = (_, { method, path, body }) => {
      if (method !== 'PATCH' || path.endsWith('/status') || !new TextDecoder().decode(body).includes('hostName'))
        return;
      binds++;
      if (!refusing) return;
      throw new ApiError('Forbidden', 'vms.coppice.dev "web" is forbidden: exceeded quota: maxVMs: …', {
        details: { causes: [{ reason: 'QuotaExceeded', message: '' }] },
      });
    };
    fleet.startControllers('placement');
    await fleet.addVM();
    await fleet.eventually('told', () => scheduled(fleet, 'web') === 'False QuotaExceeded: exceeded quota: maxVMs: …');
    await fleet.clock.advance(100_000);
    await quiesce();
    assert.ok(binds >= 5 && binds < 25, `${binds} tries`);
    refusing = false;
    await fleet.eventually('bound', () => fleet.vm('web')?.spec.hostName === 'mac-1');
    assert.deepEqual(fleet.errors, []);
  });

  it('does not bind what was deleted or moved while it looked: a lost race changes nothing and is no error', async () => {
    await using fleet = await aFleet({});
    let raced = false;
    const operator = fleet.resource<VM>(VM, 'red');
    const touched: Promise<unknown>[] = [];
    fleet.onRequest = (_, { method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/vms/web/binding') || raced) return;
      raced = true;
      touched.push(operator.patch('web', { metadata: { labels: { raced: 'yes' } } }));
    };
    fleet.startControllers('placement');
    await fleet.addVM();
    await fleet.eventually('bound', () => fleet.vm('web')?.spec.hostName === 'mac-1');
    await Promise.all(touched);
    assert.equal(raced, true);
    assert.equal(fleet.vm('web')?.metadata.labels?.raced, 'yes');
    assert.deepEqual(fleet.errors, []);
  });

  it('forgets a binding whose answer was lost, and finds it again in the world', async () => {
    await using fleet = await aFleet({ memory: '4Gi' });
    let lost = 0;
    fleet.onAnswer = (_, { method, path }) => {
      if (method === 'PATCH' && path.endsWith('/vms/web/binding') && lost++ === 0) throw new Error('connection reset');
    };
    fleet.startControllers('placement');
    await fleet.addVM();
    await fleet.eventually('said', () => scheduled(fleet, 'web')?.startsWith('True') === true);
    assert.equal(fleet.vm('web')?.spec.epoch, 1);
    await fleet.addVM('other');
    await fleet.eventually('waits', () => scheduled(fleet, 'other')?.includes('InsufficientMemory') === true);
  });

  it('binds and tells why in one write, which leaves nothing to say', async () => {
    await using fleet = await aFleet({ name: 'a' });
    const asked: string[] = [];
    fleet.onRequest = (_, { method, path }) => {
      if (method === 'PATCH' && path.includes('/vms/')) asked.push(path);
    };
    fleet.startControllers('placement');
    await fleet.addVM();
    await fleet.eventually('bound', () => fleet.vm('web')?.spec.hostName === 'a');
    await fleet.clock.advance(10_000);
    await quiesce();
    assert.deepEqual(asked, ['/apis/coppice.dev/v1/namespaces/red/vms/web/binding']);
    const vm = fleet.vm('web') ?? assert.fail();
    assert.equal(vm.spec.epoch, 1);
    assert.deepEqual(vm.status?.placement, { host: 'a', why: 'Fullest', fitting: 1 });
    assert.equal(scheduled(fleet, 'web'), 'True Bound: bound to host a');
    assert.equal(findCondition(vm, 'Scheduled')?.observedGeneration, vm.metadata.generation);
  });

  it('keeps many bindings in flight at once', async () => {
    await using fleet = await aFleet({ memory: '64Gi', vcpus: 64 });
    await Promise.all(
      Array.from({ length: 32 }, (_, n) => fleet.addVM(`v-${n}`, { size: { vcpus: 1, memory: '1Gi' } })),
    );
    let [running, most] = [0, 0];
    const isBind = (method: string, path: string) => method === 'PATCH' && /\/vms\/v-\d+\/binding$/.test(path);
    fleet.onRequest = (_, { method, path }) => {
      if (isBind(method, path)) most = Math.max(most, ++running);
    };
    fleet.onAnswer = (_, { method, path }) => {
      if (isBind(method, path)) running--;
    };
    fleet.startControllers('placement');
    await fleet.eventually('all bound', () => boundCount(fleet) === 32);
    assert.ok(most >= 16, `${most} at once`);
  });

  it('does not look again for a heartbeat of a host', async () => {
    await using fleet = await aFleet({ memory: '1Gi' });
    fleet.startControllers('placement');
    await fleet.addVM();
    await fleet.eventually('waits', () => scheduled(fleet, 'web') !== undefined);
    const before = fleet.all<Event>(Event).length;
    const version = fleet.vm('web')?.metadata.resourceVersion;
    await fleet
      .resource<Host>(Host)
      .patch('mac-1', { status: { free: { vcpus: 1, memory: '1Gi' } } }, { subresource: 'status' });
    await fleet.clock.advance(10_000);
    await quiesce();
    assert.equal(fleet.vm('web')?.metadata.resourceVersion, version);
    assert.equal(fleet.all<Event>(Event).length, before);
  });

  it('keeps on the VM why it waits, and then why it is where it is, and writes neither twice', async () => {
    await using fleet = await aFleet({ name: 'a', cordoned: true });
    fleet.startControllers('placement');
    await fleet.addVM();
    const placement = () => fleet.vm('web')?.status?.placement;
    await fleet.eventually('waits', () => placement() !== undefined);
    assert.deepEqual(placement(), { fitting: 0, turnedDown: [{ reason: 'Cordoned', hosts: 1 }] });

    await fleet.addHost({ name: 'b', lessee: 'red' });
    await fleet.eventually('bound', () => placement()?.host === 'b');
    const told = { host: 'b', why: 'PaidFor', fitting: 1 };
    assert.deepEqual(placement(), told);

    // Another process knows nothing of the decision: what was kept of it stays.
    await fleet.stopControllers();
    fleet.startControllers('placement');
    await fleet.resource<VM>(VM, 'red').patch('web', { spec: { power: 'Stopped' } });
    const stamp = () => findCondition(fleet.vm('web') ?? assert.fail(), 'Scheduled')?.observedGeneration;
    await fleet.eventually('restamped', () => stamp() === fleet.vm('web')?.metadata.generation);
    assert.deepEqual(placement(), told);
    const { resourceVersion } = fleet.vm('web')?.metadata ?? {};
    await quiesce();
    assert.equal(fleet.vm('web')?.metadata.resourceVersion, resourceVersion);
    assert.deepEqual(fleet.errors, []);
  });

  it('says nothing of why when the decision was lost with its process', async () => {
    await using fleet = await aFleet({ name: 'a' });
    await fleet.addVM();
    const placement = { host: 'gone', why: 'Fullest', fitting: 3 } as const;
    await fleet.resource<VM>(VM, 'red').patch('web', { status: { placement } }, { subresource: 'status' });
    await fleet.resource<VM>(VM, 'red').patch('web', { spec: { hostName: 'a', epoch: 1 } });
    fleet.startControllers('placement');
    await fleet.eventually('bound', () => scheduled(fleet, 'web') === 'True Bound: bound to host a');
    assert.equal(fleet.vm('web')?.status?.placement, undefined);
  });
});

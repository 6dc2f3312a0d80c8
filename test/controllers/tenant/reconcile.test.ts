import assert from 'node:assert/strict';
import { Namespace } from '../../../resources/kinds/namespace.ts';
import { Tenant } from '../../../resources/kinds/tenant.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import { findCondition } from '../../../resources/meta/condition.ts';
import { WIDGET } from '../../builders/widget.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';

const NO_VOLUMES = { volumes: 0, volumeSize: '0' };
const tenant = (fleet: Fleet, name = 'red') => fleet.find<Tenant>(Tenant, name);
const ready = (fleet: Fleet) => {
  const found = tenant(fleet);
  return found && findCondition(found, 'Ready');
};

describe('the tenant duty', () => {
  it('gives each tenant the smallest free network number, all at once, and never takes it back', async () => {
    await using fleet = await Fleet.start();
    const numbers = () => fleet.all<Tenant>(Tenant).map((t) => t.status?.networkIndex);
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => fleet.addTenant(name)));
    fleet.startControllers('tenant');
    await fleet.eventually('numbers', () => !numbers().includes(undefined));
    assert.deepEqual([...numbers()].sort(), [0, 1, 2, 3]);

    const second = fleet.all<Tenant>(Tenant).find((t) => t.status?.networkIndex === 1)?.metadata.name ?? '';
    await fleet.resource<Tenant>(Tenant).delete(second);
    await fleet.eventually('gone', () => tenant(fleet, second) === undefined);
    await fleet.stopControllers();
    await fleet.addTenant('e');
    await fleet.addTenant('f');
    fleet.startControllers('tenant');
    await fleet.eventually('numbers', () => !numbers().includes(undefined));
    assert.equal(tenant(fleet, 'e')?.status?.networkIndex ?? tenant(fleet, 'f')?.status?.networkIndex, 1);
    assert.deepEqual([...numbers()].sort(), [0, 1, 2, 3, 4]);
  });

  it('sums up what is held, and follows it', async () => {
    await using fleet = await Fleet.start();
    await fleet.addImage();
    await fleet.addTenant();
    await fleet.addVM('a');
    await fleet.addVM('b', { power: 'Stopped' });
    fleet.startControllers('tenant');
    await fleet.eventually('summed', () => tenant(fleet)?.status?.used !== undefined);
    assert.deepEqual(tenant(fleet)?.status?.used, {
      vms: 2,
      vcpus: 2,
      memory: '4Gi',
      leases: 0,
      leasedHosts: 0,
      ...NO_VOLUMES,
    });
    assert.equal(ready(fleet)?.status, 'True');
    await fleet.addVM('c', { size: 'large' });
    await fleet.eventually('summed again', () => tenant(fleet)?.status?.used?.vms === 3);
    assert.deepEqual(tenant(fleet)?.status?.used, {
      vms: 3,
      vcpus: 10,
      memory: '20Gi',
      leases: 0,
      leasedHosts: 0,
      ...NO_VOLUMES,
    });
  });

  it('restamps Ready when the spec changes though its verdict stays', async () => {
    await using fleet = await Fleet.start();
    await fleet.addTenant();
    fleet.startControllers('tenant');
    await fleet.eventually('ready', () => ready(fleet)?.status === 'True');
    const since = ready(fleet)?.lastTransitionTime;
    await fleet.clock.advance(5_000);
    await fleet.resource<Tenant>(Tenant).patch('red', { spec: { displayName: 'Red' } });
    await fleet.eventually('restamped', () => ready(fleet)?.observedGeneration === tenant(fleet)?.metadata.generation);
    assert.equal(tenant(fleet)?.status?.observedGeneration, tenant(fleet)?.metadata.generation);
    assert.equal(ready(fleet)?.lastTransitionTime, since);
  });

  it('takes a tenant apart in order: VMs and their guests first, then the rest, then its namespace', async () => {
    await using fleet = await Fleet.start();
    fleet.test.server.registry.add(WIDGET);
    await fleet.addHost();
    await fleet.addImage();
    await fleet.addTenant();
    await fleet.addVM('a', { hostName: 'mac-1', epoch: 1 });
    const widgets = fleet.resource(WIDGET, 'red');
    const widget = { apiVersion: 'demo.example.com/v1', kind: 'Widget', spec: { size: 'small' } };
    await widgets.create({ ...widget, metadata: { name: 'plain' } });
    await widgets.create({ ...widget, metadata: { name: 'held', finalizers: ['demo.example.com/hold'] } });
    fleet.startControllers('tenant', 'vm-lifecycle');
    await fleet.resource<Tenant>(Tenant).delete('red');

    await fleet.eventually('waits for the guest', () => ready(fleet)?.reason === 'Deleting');
    assert.equal(ready(fleet)?.message, 'waits until the guest of 1 VM is gone: a');
    await fleet.eventually('VM is being deleted', () => fleet.vm('a')?.metadata.deletionTimestamp !== undefined);
    assert.equal(fleet.all(WIDGET).length, 2);

    await fleet.resource<VM>(VM, 'red').patch('a', { metadata: { finalizers: [] } });
    await fleet.eventually('waits for the widget', () => ready(fleet)?.message.includes('widgets') === true);
    assert.equal(ready(fleet)?.message, 'waits until these are gone: 1 widgets.demo.example.com (held)');
    assert.notEqual(fleet.find<Namespace>(Namespace, 'red'), undefined);

    await widgets.patch('held', { metadata: { finalizers: [] } });
    await fleet.eventually('gone', () => tenant(fleet) === undefined);
    assert.equal(fleet.find<Namespace>(Namespace, 'red'), undefined);
    assert.deepEqual([fleet.all(WIDGET), fleet.errors], [[], []]);
  });

  it('stays when the server cannot say what is left', async () => {
    await using fleet = await Fleet.start();
    await fleet.addTenant();
    fleet.startControllers('tenant');
    fleet.onRequest = (_, { path }) => {
      if (path === '/apis/coordination.k8s.io/v1') throw new Error('not now');
    };
    await fleet.eventually('ready', () => ready(fleet)?.status === 'True');
    await fleet.resource<Tenant>(Tenant).delete('red');
    await fleet.clock.advance(30_000);
    await quiesce();
    assert.notEqual(tenant(fleet), undefined);
    fleet.onRequest = () => {};
    await fleet.eventually('gone', () => tenant(fleet) === undefined);
  });
});

import assert from 'node:assert/strict';
import { rfc3339 } from '../../../resources/ambient/clock.ts';
import { ConfigMap } from '../../../resources/kinds/config-map.ts';
import { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { Event } from '../../../resources/kinds/event.ts';
import { Host } from '../../../resources/kinds/host.ts';
import { Image } from '../../../resources/kinds/image.ts';
import { Namespace } from '../../../resources/kinds/namespace.ts';
import { Secret } from '../../../resources/kinds/secret.ts';
import { ServiceAccount } from '../../../resources/kinds/service-account.ts';
import type { Kind } from '../../../resources/meta/define-kind.ts';
import type { KubeObject, OwnerReference } from '../../../resources/meta/object.ts';
import { WIDGET } from '../../builders/widget.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';

const NS = 'coppice-system';

async function aLease(fleet: Fleet, name: string, owners: KubeObject[] = [], more: Partial<OwnerReference> = {}) {
  const ownerReferences = owners.map(({ apiVersion, kind, metadata: { name, uid } }) => ({
    apiVersion,
    kind,
    name,
    uid,
    ...more,
  }));
  const metadata = { name, ...(owners.length === 0 ? {} : { ownerReferences }) };
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} };
  return fleet.resource<CoordinationLease>(CoordinationLease, NS).create(lease);
}

const names = (fleet: Fleet) =>
  fleet
    .all<CoordinationLease>(CoordinationLease)
    .map((l) => l.metadata.name)
    .sort();
const remove = (fleet: Fleet, name: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background') =>
  fleet.resource<CoordinationLease>(CoordinationLease, NS).delete(name, { propagationPolicy });

describe('the garbage duty', () => {
  it('deletes what is owned after its owner, generation by generation, and keeps what another still owns', async () => {
    await using fleet = await Fleet.start();
    fleet.startControllers('garbage');
    const [a, b] = [await aLease(fleet, 'a'), await aLease(fleet, 'b')];
    const child = await aLease(fleet, 'child', [a]);
    await aLease(fleet, 'grandchild', [child]);
    await aLease(fleet, 'shared', [a, b]);
    await fleet.clock.advance(1_000);
    await quiesce();
    assert.equal(names(fleet).length, 5);
    await remove(fleet, 'a');
    await fleet.eventually('collected', () => names(fleet).join() === 'b,shared');
    await fleet.clock.advance(60_000);
    await quiesce();
    assert.deepEqual(names(fleet), ['b', 'shared']);
    await remove(fleet, 'b');
    await fleet.eventually('collected', () => names(fleet).length === 0);
  });

  for (const policy of ['Background', 'Foreground'] as const) {
    it(`says why something stays that a rule keeps, and does not ask again and again (${policy})`, async () => {
      await using fleet = await Fleet.start();
      const { apiVersion, kind, metadata } = await fleet.addImage();
      const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true };
      for (const name of ['leased', 'plain']) {
        await fleet.addHost(name === 'leased' ? { name, lessee: 'red' } : { name });
        await fleet.resource<Host>(Host).patch(name, { metadata: { ownerReferences: [owner] } });
      }
      let asked = 0;
      fleet.onRequest = (_, { method, path }) => {
        if (method === 'DELETE' && path.includes('/hosts/')) asked++;
      };
      fleet.startControllers('garbage');
      await fleet.resource<Image>(Image).delete(metadata.name, { propagationPolicy: policy });
      await fleet.eventually('both were asked for', () => asked >= 2);
      await fleet.clock.advance(30_000);
      await quiesce();
      assert.equal(asked, 2);
      await fleet.clock.advance(600_000);
      await quiesce();
      assert.ok(asked > 2 && asked <= 30, `asked ${asked} times in ten minutes`);
      const told = fleet.all<Event>(Event).filter(({ reason }) => reason === 'FailedDelete');
      assert.deepEqual(told.map(({ involvedObject }) => involvedObject?.name).sort(), ['leased', 'plain']);
      assert.match(told[0]?.message ?? '', /^its owner is gone, but it stays: /);
      assert.equal(fleet.find<Image>(Image, metadata.name) !== undefined, policy === 'Foreground');
      assert.deepEqual(fleet.errors, []);
    });
  }

  it('goes by uid: an owner made again under its name is another', async () => {
    await using fleet = await Fleet.start();
    const first = await aLease(fleet, 'owner');
    await aLease(fleet, 'dependent', [first]);
    await remove(fleet, 'owner');
    await aLease(fleet, 'owner');
    fleet.startControllers('garbage');
    await fleet.eventually('collected', () => names(fleet).join() === 'owner');
  });

  it('keeps what is owned by a kind that nobody serves', async () => {
    await using fleet = await Fleet.start();
    fleet.startControllers('garbage');
    const ghost = {
      apiVersion: 'ghosts.example/v1',
      kind: 'Ghost',
      metadata: { name: 'g', uid: 'g', resourceVersion: '', creationTimestamp: '' },
    };
    await aLease(fleet, 'haunted', [ghost]);
    await fleet.clock.advance(120_000);
    await quiesce();
    assert.deepEqual(names(fleet), ['haunted']);
  });

  it('finds kinds that are served later', async () => {
    await using fleet = await Fleet.start();
    fleet.startControllers('garbage');
    await fleet.clock.advance(1_000);
    await quiesce();
    fleet.test.server.registry.add(WIDGET);
    const widgets = fleet.resource(WIDGET, NS);
    const widget = await widgets.create({
      apiVersion: 'demo.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w' },
      spec: { size: 'small' },
    });
    await aLease(fleet, 'of-widget', [widget]);
    await widgets.delete('w');
    await fleet.eventually('collected', () => names(fleet).length === 0);
  });

  it('disowns instead of deleting when an owner goes with Orphan', async () => {
    await using fleet = await Fleet.start();
    fleet.startControllers('garbage');
    const owner = await aLease(fleet, 'owner');
    await aLease(fleet, 'dependent', [owner]);
    await fleet.clock.advance(1_000);
    await quiesce();
    await remove(fleet, 'owner', 'Orphan');
    await fleet.eventually('owner gone', () => names(fleet).join() === 'dependent');
    await fleet.clock.advance(60_000);
    await quiesce();
    const left = fleet.find<CoordinationLease>(CoordinationLease, 'dependent', NS);
    assert.deepEqual(left?.metadata.ownerReferences ?? [], []);
  });

  it('keeps an owner that goes with Foreground until the dependents that block it are gone', async () => {
    await using fleet = await Fleet.start();
    const leases = fleet.resource<CoordinationLease>(CoordinationLease, NS);
    const owner = await aLease(fleet, 'owner');
    await aLease(fleet, 'dependent', [owner], { blockOwnerDeletion: true });
    await leases.patch('dependent', { metadata: { finalizers: ['demo.example.com/hold'] } });
    fleet.startControllers('garbage');
    await fleet.clock.advance(1_000);
    await quiesce();
    await remove(fleet, 'owner', 'Foreground');
    const dependent = () => fleet.find<CoordinationLease>(CoordinationLease, 'dependent', NS);
    await fleet.eventually('being deleted', () => dependent()?.metadata.deletionTimestamp !== undefined);
    await fleet.clock.advance(10_000);
    await quiesce();
    assert.deepEqual(names(fleet), ['dependent', 'owner']);
    await leases.patch('dependent', { metadata: { finalizers: [] } });
    await fleet.eventually('both gone', () => names(fleet).length === 0);
    assert.deepEqual(fleet.errors, []);
  });

  it('empties a deleted namespace and then lets it go', async () => {
    await using fleet = await Fleet.start();
    await fleet
      .resource<Namespace>(Namespace)
      .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'plain' } });
    const leases = fleet.resource<CoordinationLease>(CoordinationLease, 'plain');
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec: {} };
    await leases.create({ ...lease, metadata: { name: 'a' } });
    await leases.create({ ...lease, metadata: { name: 'held', finalizers: ['demo.example.com/hold'] } });
    fleet.startControllers('garbage');
    await fleet.resource<Namespace>(Namespace).delete('plain');
    await fleet.eventually('emptied but for one', () => names(fleet).join() === 'held');
    const conditions = () =>
      (fleet.find<Namespace>(Namespace, 'plain')?.status?.conditions ?? []).filter(({ status }) => status === 'True');
    await fleet.eventually('told', () => conditions().length > 0);
    assert.equal(fleet.find<Namespace>(Namespace, 'plain')?.status?.phase, 'Terminating');
    assert.deepEqual(
      conditions().map(({ type, message }) => `${type}: ${message}`),
      [
        'NamespaceContentRemaining: Some resources are remaining: leases.coordination.k8s.io has 1 resource instances',
        'NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: demo.example.com/hold in 1 resource instances',
      ],
    );
    await leases.patch('held', { metadata: { finalizers: [] } });
    await fleet.eventually('gone', () => fleet.find<Namespace>(Namespace, 'plain') === undefined);
    assert.deepEqual(fleet.errors, []);
  });

  it('empties a namespace of kinds of Kubernetes, but leaves finalizers of others on it', async () => {
    await using fleet = await Fleet.start();
    const namespaces = fleet.resource<Namespace>(Namespace);
    const spec = { finalizers: ['ex.io/mine'] };
    await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'plain' }, spec });
    const made = [ConfigMap, Secret, ServiceAccount, Event] as readonly Kind[];
    const count = () => made.reduce((sum, kind) => sum + fleet.all(kind).length, 0);
    for (const kind of made) {
      const object = { apiVersion: 'v1', kind: kind.kind, metadata: { name: 'x' } };
      const about = kind.kind === 'Event' ? { involvedObject: { namespace: 'plain' } } : {};
      await fleet.resource(kind, 'plain').create({ ...object, ...about });
    }
    assert.equal(count(), made.length);
    fleet.startControllers('garbage');
    await namespaces.delete('plain');
    const left = () => fleet.find<Namespace>(Namespace, 'plain')?.spec?.finalizers?.join();
    await fleet.eventually('its own finalizer off', () => left() === 'ex.io/mine');
    assert.equal(count(), 0);
    assert.deepEqual(fleet.errors, []);
  });

  it('finds what is in a namespace that is not there', async () => {
    await using fleet = await Fleet.start();
    await aLease(fleet, 'elsewhere');
    const stray = { ...(fleet.all(CoordinationLease)[0] as CoordinationLease) };
    stray.metadata = { ...stray.metadata, name: 'stray', namespace: 'gone', uid: 'u-stray' };
    const key = 'objects/coordination.k8s.io/leases/gone/stray';
    const puts = [{ key, value: new TextEncoder().encode(JSON.stringify(stray)) }];
    await fleet.test.store.txn({ compares: [], puts, deletes: [] }).done;
    await fleet.eventually('it is there', () => names(fleet).includes('stray'));
    fleet.startControllers('garbage');
    await fleet.eventually('collected', () => names(fleet).join() === 'elsewhere');
  });

  it('deletes Events an hour after they last happened', async () => {
    await using fleet = await Fleet.start();
    const events = fleet.resource<Event>(Event, 'default');
    const event = { apiVersion: 'v1', kind: 'Event', involvedObject: { namespace: 'default' } };
    const at = (minutes: number) => rfc3339(fleet.clock.now() + minutes * 60_000);
    await events.create({ ...event, metadata: { name: 'old' }, lastTimestamp: at(0) });
    await events.create({ ...event, metadata: { name: 'again' }, firstTimestamp: at(0), lastTimestamp: at(30) });
    fleet.startControllers('garbage');
    const left = () =>
      fleet
        .all<Event>(Event)
        .map((e) => e.metadata.name)
        .sort()
        .join();
    await fleet.clock.advance(59 * 60_000);
    await quiesce();
    assert.equal(left(), 'again,old');
    await fleet.clock.advance(61_000);
    await quiesce();
    assert.equal(left(), 'again');
    await fleet.clock.advance(30 * 60_000);
    await quiesce();
    assert.equal(left(), '');
  });
});

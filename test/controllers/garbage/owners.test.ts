import assert from 'node:assert/strict';
import { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { Namespace } from '../../../resources/kinds/namespace.ts';
import type { KubeObject, OwnerReference } from '../../../resources/meta/object.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';

const NS = 'coppice-system';
const HOLD = 'demo.example.com/hold';

/** A reference to an owner that blocks it. */
function ownedBy({ apiVersion, kind, metadata: { name, uid } }: KubeObject, more: Partial<OwnerReference> = {}) {
  return { apiVersion, kind, name, uid, blockOwnerDeletion: true, ...more };
}

/** A fleet of coordination leases that own each other, and the garbage duty. */
class Owners implements AsyncDisposable {
  readonly fleet: Fleet;
  readonly went: string[] = [];

  private constructor(fleet: Fleet) {
    this.fleet = fleet;
  }

  static async start(): Promise<Owners> {
    const owners = new Owners(await Fleet.start());
    owners.fleet.test.server.parts.cache.resource('coordination.k8s.io/leases').listen(({ removed, current }) => {
      if (removed) owners.went.push(current.object.metadata.name);
    });
    return owners;
  }

  at(namespace = NS) {
    return this.fleet.resource<CoordinationLease>(CoordinationLease, namespace);
  }

  make(name: string, ownerReferences: OwnerReference[] = [], over: { finalizers?: string[]; namespace?: string } = {}) {
    const { namespace, ...rest } = over;
    const metadata = { name, ...(ownerReferences.length === 0 ? {} : { ownerReferences }), ...rest };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} };
    return this.at(namespace).create(lease);
  }

  names(): string {
    const all = this.fleet.all<CoordinationLease>(CoordinationLease);
    return all
      .map(({ metadata }) => metadata.name)
      .sort()
      .join();
  }

  /** The duty has seen everything and done what it wants to. */
  async settled(): Promise<void> {
    await this.fleet.clock.advance(60_000);
    await quiesce();
    await this.fleet.clock.advance(60_000);
    await quiesce();
  }

  async collected(left: string): Promise<void> {
    await this.fleet.eventually(`left: ${left}`, () => this.names() === left);
    await this.settled();
    assert.equal(this.names(), left);
    assert.deepEqual(this.fleet.errors, []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fleet[Symbol.asyncDispose]();
  }
}

describe('owners and what they own', () => {
  it('in the background the owner goes first, in the foreground last, over generations', async () => {
    for (const [policy, order] of [
      ['Background', 'a,b,c'],
      ['Foreground', 'c,b,a'],
    ] as const) {
      await using owners = await Owners.start();
      const a = await owners.make('a');
      const b = await owners.make('b', [ownedBy(a)]);
      await owners.make('c', [ownedBy(b)]);
      owners.fleet.startControllers('garbage');
      await owners.settled();
      await owners.at().delete('a', { propagationPolicy: policy });
      await owners.collected('');
      assert.equal(owners.went.join(), order, policy);
    }
  });

  it('in the foreground nobody waits for what does not block', async () => {
    await using owners = await Owners.start();
    const a = await owners.make('a');
    await owners.make('blocks', [ownedBy(a)]);
    await owners.make('held', [ownedBy(a, { blockOwnerDeletion: false })], { finalizers: [HOLD] });
    owners.fleet.startControllers('garbage');
    await owners.settled();
    await owners.at().delete('a', { propagationPolicy: 'Foreground' });
    await owners.collected('held');
    await owners.at().patch('held', { metadata: { finalizers: [] } });
    await owners.collected('');
  });

  it('orphans lose that reference only, and stay', async () => {
    await using owners = await Owners.start();
    const [a, b] = [await owners.make('a'), await owners.make('b')];
    await owners.make('both', [ownedBy(a), ownedBy(b)]);
    owners.fleet.startControllers('garbage');
    await owners.settled();
    await owners.at().delete('a', { propagationPolicy: 'Orphan' });
    await owners.collected('b,both');
    const left = owners.fleet.find<CoordinationLease>(CoordinationLease, 'both', NS);
    assert.deepEqual(
      left?.metadata.ownerReferences?.map(({ name }) => name),
      ['b'],
    );
  });

  it('a dependent that orphans its own keeps them when it is collected', async () => {
    await using owners = await Owners.start();
    const a = await owners.make('a');
    const b = await owners.make('b', [ownedBy(a)], { finalizers: ['orphan'] });
    await owners.make('c', [ownedBy(b)]);
    owners.fleet.startControllers('garbage');
    await owners.settled();
    await owners.at().delete('a', { propagationPolicy: 'Background' });
    await owners.collected('c');
  });

  it('a reference to what never was is one to what is gone', async () => {
    await using owners = await Owners.start();
    const a = await owners.make('a');
    await owners.make('of-nobody', [ownedBy(a, { name: 'nobody', uid: 'never-made' })]);
    await owners.make('of-another', [ownedBy(a, { uid: 'never-made' })]);
    await owners.make('of-a-too', [ownedBy(a), ownedBy(a, { name: 'nobody', uid: 'never-made' })]);
    owners.fleet.startControllers('garbage');
    await owners.collected('a,of-a-too');
  });

  it('owners are looked for in the dependent’s own namespace, or in none', async () => {
    await using owners = await Owners.start();
    const a = await owners.make('a');
    await owners.make('elsewhere', [ownedBy(a)], { namespace: 'default' });
    const namespaces = owners.fleet.resource<Namespace>(Namespace);
    const space = await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'owner' } });
    await owners.make('of-cluster', [ownedBy(space)], { namespace: 'default' });
    owners.fleet.startControllers('garbage');
    await owners.collected('a,of-cluster');
    await namespaces.delete('owner');
    await owners.collected('a');
  });

  it('a claim from another namespace holds nothing, nor one on itself', async () => {
    await using owners = await Owners.start();
    const a = await owners.make('a');
    owners.fleet.startControllers('garbage');
    await owners.settled();
    // Younger than what the collector looks at, so that it is there when its owner is deleted.
    await owners.make('far', [ownedBy(a)], { namespace: 'default', finalizers: [HOLD] });
    await owners.at().patch('a', { metadata: { ownerReferences: [ownedBy(a)] } });
    await owners.at().delete('a', { propagationPolicy: 'Foreground' });
    await owners.fleet.eventually('a is gone', () => !owners.names().split(',').includes('a'));
  });

  it('an owner made again under its name does not keep what the first owned', async () => {
    await using owners = await Owners.start();
    owners.fleet.startControllers('garbage');
    const a = await owners.make('a');
    await owners.make('b', [ownedBy(a)]);
    await owners.settled();
    await owners.at().delete('a');
    await owners.make('a');
    await owners.collected('a');
  });

  for (const policy of ['Background', 'Foreground'] as const) {
    it(`those that own each other in a circle go together, ${policy.toLowerCase()}`, async () => {
      await using owners = await Owners.start();
      const a = await owners.make('a');
      const b = await owners.make('b', [ownedBy(a)]);
      const c = await owners.make('c', [ownedBy(b)]);
      await owners.at().patch('a', { metadata: { ownerReferences: [ownedBy(c)] } });
      owners.fleet.startControllers('garbage');
      await owners.settled();
      assert.equal(owners.names(), 'a,b,c');
      await owners.at().delete('b', { propagationPolicy: policy });
      await owners.collected('');
    });
  }
});

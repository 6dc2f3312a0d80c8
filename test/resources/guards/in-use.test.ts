import assert from 'node:assert/strict';
import type { Refusal } from '../../../resources/guards/guard.ts';
import { hostInUse, imageInUse, imageUse } from '../../../resources/guards/in-use.ts';
import { TENANTS, VMS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import { Host } from '../../../resources/kinds/host.ts';
import { Image } from '../../../resources/kinds/image.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { AS_OPERATOR, aHost, anImage, aTenant, aVM, EPOCH_START } from '../../harness/builders.ts';

const NO_FENCE = { bump: [], compare: [] };

function aWorld(...vms: readonly VM[]): World {
  const world = new World();
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  return world;
}

function bound(name: string, status?: VM['status']): VM {
  return aVM({ name, spec: { hostName: 'mac-1', epoch: 1 }, ...(status === undefined ? {} : { status }) });
}

function deleted<T extends { metadata: object }>(object: T): T {
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: EPOCH_START } };
}

function waiting(name: string): VM {
  const vm = aVM({ name });
  const { resolved: _, ...spec } = vm.spec;
  return { ...vm, spec };
}

const told = (refusal: Refusal | undefined) =>
  refusal && (refusal.answer === 'Forbidden' ? `${refusal.cause}: ${refusal.message}` : refusal.answer);

const GONE = { guest: { id: 'g', power: 'Gone', epoch: 1 } } as const;

describe('a Host that is deleted', () => {
  const refused = (host: Host, ...vms: readonly VM[]) =>
    told(hostInUse.judge({ before: host, after: undefined }, aWorld(...vms), AS_OPERATOR));

  it('stays while it is Ready and VMs are bound to it, which are named', () => {
    assert.equal(
      refused(aHost(), bound('a')),
      'HostInUse: 1 VM is bound to it (red/a); delete the VM first, or give the host up, and the VM with it: coppice host forget mac-1 --force',
    );
    assert.equal(
      refused(aHost(), ...['d', 'c', 'b', 'a'].map((name) => bound(name))),
      'HostInUse: 4 VMs are bound to it (red/a, red/b, red/c, …); delete the VMs first, or give the host up, and them with it: coppice host forget mac-1 --force',
    );
    assert.match(refused(aHost(), deleted(bound('a'))) ?? '', /^HostInUse/);
    assert.match(refused(aHost(), bound('a', GONE)) ?? '', /^HostInUse/);
  });

  it('stays while it is Ready and leased', () => {
    assert.equal(
      refused(aHost({ lessee: 'red' })),
      'HostInUse: it is leased to red (lease l); end the lease first, or give the host up: coppice host forget mac-1 --force',
    );
    assert.equal(refused(aHost({ lessee: 'red', ready: false })), undefined);
  });

  it('may go though it is heard when it is to be forgotten', () => {
    const host = aHost({ lessee: 'red' });
    assert.equal(refused({ ...host, spec: { ...host.spec, forget: true } }, bound('a')), undefined);
  });

  it('may go when it is not Ready: so a dead host is given up', () => {
    assert.equal(refused(aHost({ ready: false }), bound('a')), undefined);
  });

  it('may go when no VM of it is left', () => {
    assert.equal(refused(aHost()), undefined);
    assert.equal(refused(aHost({ name: 'mac-2' }), bound('a')), undefined);
    assert.equal(refused(aHost(), deleted(bound('a', GONE))), undefined);
  });

  it('is judged when the deletion begins, not again when a finalizer is taken off, nor for any other write', () => {
    const world = aWorld(bound('a'));
    const host = aHost();
    assert.match(told(hostInUse.judge({ before: host, after: deleted(host) }, world, AS_OPERATOR)) ?? '', /^HostInUse/);
    assert.equal(hostInUse.judge({ before: deleted(host), after: undefined }, world, AS_OPERATOR), undefined);
    assert.equal(hostInUse.judge({ before: host, after: aHost({ cordoned: true }) }, world, AS_OPERATOR), undefined);
    assert.equal(hostInUse.judge({ before: undefined, after: host }, world, AS_OPERATOR), undefined);
  });

  it('holds off bindings to it meanwhile', () => {
    const host = aHost();
    for (const after of [undefined, deleted(host)]) {
      assert.deepEqual(hostInUse.fences({ before: host, after }, aWorld()).bump, ['fence/host/mac-1']);
    }
    assert.deepEqual(hostInUse.fences({ before: host, after: aHost({ cordoned: true }) }, aWorld()), NO_FENCE);
  });
});

describe('an Image that is deleted', () => {
  const refused = (image: Image, ...vms: readonly VM[]) =>
    told(imageInUse.judge({ before: image, after: undefined }, aWorld(...vms), AS_OPERATOR));

  it('stays while admitted VMs use it, of which three are named', () => {
    assert.equal(refused(anImage(), aVM({ name: 'a' })), 'ImageInUse: 1 VM is made from it (red/a); delete it first');
    assert.equal(
      refused(anImage(), ...['d', 'c', 'b', 'a'].map((name) => aVM({ name }))),
      'ImageInUse: 4 VMs are made from it (red/a, red/b, red/c, …); delete them first',
    );
    assert.match(refused(anImage(), deleted(aVM()), aVM({ name: 'b' })) ?? '', /^ImageInUse: 1 VM /);
  });

  it('may go when none does: none there, on its way out, gone, not admitted, or of another image', () => {
    assert.equal(refused(anImage()), undefined);
    assert.equal(refused(anImage(), deleted(aVM())), undefined);
    assert.equal(refused(anImage(), deleted(aVM({ status: GONE }))), undefined);
    assert.equal(refused(anImage(), waiting('a')), undefined);
    assert.equal(refused(anImage({ name: 'other' }), aVM()), undefined);
  });

  it('may go when the tenant of its VMs is on its way out', () => {
    const world = aWorld(aVM());
    const tenant = aTenant('red');
    world.set(TENANTS, 'red', tenant, 1);
    const change = { before: anImage(), after: undefined };
    assert.match(told(imageInUse.judge(change, world, AS_OPERATOR)) ?? '', /^ImageInUse/);
    world.set(TENANTS, 'red', deleted(tenant), 2);
    assert.equal(imageInUse.judge(change, world, AS_OPERATOR), undefined);
  });

  it('and the admission of a VM from it hold each other off', () => {
    const world = aWorld();
    const removal = imageInUse.fences({ before: anImage(), after: undefined }, world).bump;
    const uses = Array.from({ length: 100 }, (_, i) => {
      const vm = aVM({ name: 'a' });
      const metadata = { ...vm.metadata, uid: `uid-${i}` };
      const [made, admitted] = [undefined, waiting('a')].map(
        (before) => imageUse.fences({ before, after: { ...vm, metadata } }, world).bump,
      );
      assert.deepEqual(made, admitted);
      assert.equal(made?.length, 1);
      return made?.[0] ?? '';
    });
    assert.deepEqual(
      [...new Set(uses)].sort(),
      [...removal].sort(),
      'each of them is met, and they are spread over all',
    );
    assert.deepEqual(imageUse.fences({ before: aVM(), after: aVM() }, world), NO_FENCE);
    assert.deepEqual(imageUse.fences({ before: undefined, after: waiting('a') }, world), NO_FENCE);
  });
});

describe('what is in use', () => {
  it('is guarded by the kinds themselves', () => {
    assert.ok(Host.rules.guards?.includes(hostInUse));
    assert.ok(Image.rules.guards?.includes(imageInUse));
    assert.ok(VM.rules.guards?.includes(imageUse));
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { GuardContext } from '../../../resources/guards/guard.ts';
import { hostRoom } from '../../../resources/guards/host-guard.ts';
import { ownGuest } from '../../../resources/guards/own-guest.ts';
import { HOSTS, TENANTS, VMS } from '../../../resources/guards/refs.ts';
import { isReadyToTake, standIn as standInGuard } from '../../../resources/guards/stand-in.ts';
import { vmQuota } from '../../../resources/guards/tenant-guard.ts';
import { admitVM } from '../../../resources/guards/vm-admission.ts';
import { vmCompanions } from '../../../resources/guards/vm-companions.ts';
import { World } from '../../../resources/guards/world.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { isTrue } from '../../../resources/meta/condition.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { AS_OPERATOR, aHost, aTenant, aVM, EPOCH_START } from '../../harness/builders.ts';

const CONTEXT: GuardContext = AS_OPERATOR;
const ready = (status: 'True' | 'Unknown', reason: string) => ({
  ...{ type: 'Ready', status, reason, message: reason, lastTransitionTime: EPOCH_START, observedGeneration: 1 },
});
const statusOn = (host: string, id: string, epoch: number): VM['status'] => ({
  ...{ phase: 'Running', host, hostUID: `uid-of-${host}`, observedGeneration: 1 },
  guest: { id, power: 'Running', epoch },
  conditions: [ready('True', 'Running')],
});

const web = aVM({
  spec: { hostName: 'mac-1', guestID: 'g', epoch: 3, reschedulable: true, ttl: '8h' },
  status: { ...statusOn('mac-1', 'g', 3), conditions: [ready('Unknown', 'HostUnreachable')] },
});
const standsInFor = { name: 'web', uid: web.metadata.uid };
const standIn = aVM({
  name: 'web-move-1',
  spec: { hostName: 'mac-2', guestID: 's', epoch: 4, standsInFor },
  status: statusOn('mac-2', 's', 4),
});

function worldOf(...vms: readonly VM[]): World {
  const world = new World();
  for (const name of ['mac-1', 'mac-2']) world.set(HOSTS, name, aHost({ name, memory: '4Gi', vcpus: 2 }), 1);
  world.set(TENANTS, 'red', aTenant('red', { quota: { maxVMs: 1, maxVCPUs: 2, maxMemory: '4Gi' } }), 1);
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  return world;
}

/** The write by which `web` takes over what stands in for it, as it comes out of admission. */
function taking(vm: VM, world: World, binding: Partial<VM['spec']> = {}): VM {
  const draft = { ...vm, spec: { ...vm.spec, hostName: 'mac-2', guestID: 's', epoch: 4, ...binding } };
  return admitVM(draft, vm, { world, ...CONTEXT });
}

const refusal = (after: VM, world: World, before?: VM) =>
  [ownGuest, standInGuard, hostRoom]
    .map((guard) => guard.judge({ before, after }, world, CONTEXT))
    .find((each) => each !== undefined)?.message;

describe('a VM that takes over its stand-in', () => {
  it('has its guest, its binding and all that is known of them, though its host has no room for another', () => {
    const world = worldOf(web, standIn);
    const after = taking(web, world);
    assert.equal(refusal(after, world, web), undefined);
    const { hostName, guestID, epoch, ttl } = after.spec;
    assert.deepEqual([hostName, guestID, epoch, ttl], ['mac-2', 's', 4, '8h']);
    assert.deepEqual(
      [after.status?.host, after.status?.hostUID, after.status?.guest],
      [...['mac-2', 'uid-of-mac-2'], { id: 's', power: 'Running', epoch: 4 }],
    );
    assert.equal(isTrue(after, 'Ready'), true);
  });

  it('leaves it its own, in the same transaction, and the stand-in goes', () => {
    const world = worldOf(web, standIn);
    const [write, ...others] = vmCompanions(taking(web, world), web, { world, ...CONTEXT });
    assert.deepEqual(others, []);
    const left = write?.object as VM;
    assert.equal(objectKey(left.metadata), 'red/web-move-1');
    assert.deepEqual([left.spec.hostName, left.spec.guestID, left.spec.epoch], ['mac-1', 'g', 3]);
    assert.deepEqual([left.status?.host, left.status?.guest], ['mac-1', { id: 'g', power: 'Running', epoch: 3 }]);
    assert.equal(left.status?.conditions?.[0]?.reason, 'HostUnreachable');
    assert.equal(left.metadata.deletionTimestamp, EPOCH_START);
    // What was wrong with its guest before is not what is wrong with it now.
    assert.deepEqual(vmCompanions(web, undefined, { world, ...CONTEXT }), []);
  });

  const cases: readonly [string, VM, Partial<VM['spec']>, RegExp][] = [
    [
      'not ready',
      { ...standIn, status: { ...standIn.status, conditions: [ready('Unknown', 'x')] } },
      {},
      /it is not ready/,
    ],
    ['of an earlier spec', { ...standIn, metadata: { ...standIn.metadata, generation: 2 } }, {}, /it is not ready/],
    ['another kind of VM', { ...standIn, spec: { ...standIn.spec, power: 'Stopped' } }, {}, /another kind of VM/],
    [
      'of no newer binding',
      { ...standIn, spec: { ...standIn.spec, epoch: 3 } },
      { epoch: 3 },
      /it is of binding 3, the VM was in 3/,
    ],
    ['named in another binding', standIn, { epoch: 9 }, /it is of binding 4/],
    ['on another host than is said', standIn, { hostName: 'mac-1' }, /that is on host mac-2, not on mac-1/],
    [
      'going',
      { ...standIn, metadata: { ...standIn.metadata, deletionTimestamp: EPOCH_START } },
      {},
      /names the guest of VM/,
    ],
    [
      'another’s',
      { ...standIn, spec: { ...standIn.spec, standsInFor: { name: 'web', uid: 'x' } } },
      {},
      /names the guest of VM/,
    ],
  ];
  for (const [what, other, binding, why] of cases) {
    it(`is refused while that is ${what}`, () => {
      const world = worldOf(web, other);
      assert.match(refusal(taking(web, world, binding), world, web) ?? 'it is not refused', why);
    });
  }

  it('is refused where that went at the same moment, for its own guest would be nobody’s; an operator may put it right', () => {
    const world = worldOf(web);
    const [before, after] = [web, taking(web, world)];
    assert.equal(refusal(after, world, before), undefined);
    const duty = { ...CONTEXT, asker: { user: 'system:controller:drain', operator: false } };
    const refused = standInGuard.judge({ before, after }, world, duty);
    assert.equal(refused?.message, 'nothing stands in for it with guest s');
  });

  it('is refused where its host takes no VM any more', () => {
    const world = worldOf(web, standIn);
    const host = aHost({ name: 'mac-2', memory: '4Gi', vcpus: 2 });
    world.set(HOSTS, 'mac-2', { ...host, spec: { ...host.spec, cordoned: true, drain: { mode: 'Cordon' } } }, 2);
    assert.equal(refusal(taking(web, world), world, web), 'host mac-2 is being drained');
  });
});

describe('a stand-in', () => {
  const { hostName: _, guestID: __, epoch: ___, resolved: ____, ...wish } = standIn.spec;
  const asked: VM = { ...standIn, spec: { ...wish, class: 'flex', power: 'Running' } };
  delete asked.status;

  it('is admitted as its VM was, in the binding after that one’s', () => {
    const digest = 'sha256:older';
    const older = {
      ...web,
      spec: { ...web.spec, resolved: { digest, guestOS: 'linux' as const, vcpus: 2, memory: '4Gi' } },
    };
    const world = worldOf(older);
    const made = admitVM(asked, undefined, { world, ...CONTEXT });
    assert.deepEqual([made.spec.resolved?.digest, made.spec.epoch], [digest, 3]);
    assert.equal(refusal(made, world), undefined);
  });

  it('is refused for a VM that is not there, is another, goes, or is not like it', () => {
    const refused = (vm: VM | undefined, made = asked) => {
      const world = worldOf(...(vm === undefined ? [] : [vm]));
      return refusal(admitVM(made, undefined, { world, ...CONTEXT }), world);
    };
    assert.match(refused(undefined) ?? '', /there is no VM web/);
    assert.match(refused({ ...web, metadata: { ...web.metadata, uid: 'x' } }) ?? '', /there is no VM web/);
    assert.match(refused({ ...web, metadata: { ...web.metadata, deletionTimestamp: EPOCH_START } }) ?? '', /no VM web/);
    assert.match(refused(web, { ...asked, spec: { ...asked.spec, class: 'reserved' } }) ?? '', /it is not like VM web/);
  });

  it('is ready to be taken when its host said so of this binding; one that is to be off, when it is', () => {
    assert.equal(isReadyToTake(standIn), true);
    const off = (phase: 'Stopped' | 'Pending'): VM => ({
      ...standIn,
      spec: { ...standIn.spec, power: 'Stopped' },
      status: { phase, host: 'mac-2', observedGeneration: 1 },
    });
    assert.deepEqual([isReadyToTake(off('Stopped')), isReadyToTake(off('Pending'))], [true, false]);
    assert.equal(isReadyToTake({ ...standIn, status: { ...standIn.status, host: 'mac-1' } }), false);
    assert.equal(
      isReadyToTake({ ...standIn, status: { ...standIn.status, guest: { id: 's', power: 'Running', epoch: 3 } } }),
      false,
    );
  });

  it('counts once with its VM and another that still goes, also from when that VM is seen to be paused', () => {
    const late: VM = {
      ...{ ...standIn, spec: { ...standIn.spec, hostName: 'mac-3' } },
      metadata: { ...standIn.metadata, name: 'web-move-2', uid: 'late', deletionTimestamp: EPOCH_START },
    };
    const told: VM = { ...web, spec: { ...web.spec, power: 'Paused' } };
    const guest = { id: 'g', power: 'Paused' as const, epoch: 3 };
    const paused: VM = { ...told, status: { ...told.status, guest } };
    const world = worldOf(told, standIn, late);
    const used = ({ vms, vcpus, memoryBytes }: ReturnType<World['tenantUse']>) => [vms, vcpus, memoryBytes / 1024 ** 3];
    assert.deepEqual(used(world.tenantUse('red')), [1, 2, 4]);
    world.set(VMS, 'red/web', paused, 2);
    assert.deepEqual(used(world.tenantUse('red')), [1, 2, 4]);
    assert.deepEqual(world.tenantUse('red'), world.recount().tenantUse('red'));
    const again: VM = { ...paused, spec: { ...paused.spec, power: 'Running' } };
    assert.equal(vmQuota.judge({ before: paused, after: again }, world), undefined);
    const third: VM = { ...standIn, metadata: { ...standIn.metadata, name: 'web-move-3', uid: 'third' } };
    assert.equal(vmQuota.judge({ before: undefined, after: third }, world), undefined);
    const larger = { ...third.spec, resolved: { ...web.spec.resolved, vcpus: 3 } } as VM['spec'];
    const refused = vmQuota.judge({ before: undefined, after: { ...third, spec: larger } }, world);
    assert.equal(refused?.message, 'exceeded quota: maxVCPUs: requested 1, used 2, limited 2');
  });

  it('counts once with its VM in a quota that is full, and in full when that is gone', () => {
    const [alone, both] = [worldOf(web), worldOf(web, standIn)];
    assert.equal(vmQuota.judge({ before: undefined, after: standIn }, alone), undefined);
    const used = ({ vms, vcpus, memoryBytes }: ReturnType<World['tenantUse']>) => [vms, vcpus, memoryBytes / 1024 ** 3];
    assert.deepEqual(used(both.tenantUse('red')), [1, 2, 4]);
    const more = aVM({ name: 'more' });
    assert.match(
      vmQuota.judge({ before: undefined, after: more }, both)?.message ?? '',
      /maxVMs: requested 1, used 1, limited 1/,
    );
    const stranger: VM = { ...standIn, spec: { ...standIn.spec, standsInFor: { name: 'web', uid: 'x' } } };
    assert.match(vmQuota.judge({ before: undefined, after: stranger }, alone)?.message ?? '', /maxVMs: requested 1/);
    both.set(VMS, 'red/web', undefined, 2);
    assert.deepEqual(used(both.tenantUse('red')), [1, 2, 4]);
    assert.deepEqual(both.tenantUse('red'), both.recount().tenantUse('red'));
    // Of each host it is counted where it is.
    assert.deepEqual(
      ['mac-1', 'mac-2'].map((host) => worldOf(web, standIn).hostUse(host).guests),
      [1, 1],
    );
  });

  it('is not in the way of its own VM, which is paused and to run again', () => {
    const paused: VM = {
      ...web,
      spec: { ...web.spec, power: 'Paused' },
      status: { guest: { id: 'g', power: 'Paused', epoch: 3 } },
    };
    const world = worldOf(paused, standIn);
    assert.equal(world.tenantUse('red').vcpus, 2);
    const resumed: VM = { ...paused, spec: { ...paused.spec, power: 'Running' } };
    assert.equal(vmQuota.judge({ before: paused, after: resumed }, world), undefined);
    // Another one would be.
    const other = aVM({
      name: 'other',
      spec: { power: 'Paused' },
      status: { guest: { id: 'o', power: 'Paused', epoch: 1 } },
    });
    world.set(VMS, 'red/other', other, 2);
    const more: VM = { ...other, spec: { ...other.spec, power: 'Running' } };
    assert.match(
      vmQuota.judge({ before: other, after: more }, world)?.message ?? '',
      /maxVCPUs: requested 2, used 2, limited 2/,
    );
  });

  it('never lets a tenant have more than the larger of the two beside the rest, whatever the two are', () => {
    const size = fc.record({
      vcpus: fc.integer({ min: 1, max: 4 }),
      gib: fc.integer({ min: 1, max: 4 }),
      power: fc.constantFrom('Running', 'Stopped'),
    });
    fc.assert(
      fc.property(size, size, fc.boolean(), (a, b, isIts) => {
        const sized = (vm: VM, { vcpus, gib, power }: typeof a): VM => ({
          ...vm,
          spec: {
            ...vm.spec,
            power: power as VM['spec']['power'],
            resolved: { digest: 'd', guestOS: 'linux', vcpus, memory: `${gib}Gi` },
          },
          status: { guest: { id: vm.spec.guestID ?? '', power: power === 'Running' ? 'Running' : 'Off', epoch: 1 } },
        });
        const second = sized(standIn, b);
        const other: VM = {
          ...second,
          spec: { ...second.spec, standsInFor: { name: 'web', uid: isIts ? web.metadata.uid : 'x' } },
        };
        const world = worldOf(sized(web, a), other);
        const [x, y] = [a, b].map(({ power, vcpus }) => (power === 'Running' ? vcpus : 0)) as [number, number];
        assert.equal(world.tenantUse('red').vcpus, isIts ? Math.max(x, y) : x + y);
        assert.equal(world.tenantUse('red').vms, isIts ? 1 : 2);
        assert.deepEqual(world.tenantUse('red'), world.recount().tenantUse('red'));
      }),
    );
  });
});

describe('a VM that may be moved and comes to hold less', () => {
  const guest = { id: 'g', power: 'Paused', epoch: 3 } as const;
  const paused: VM = { ...web, spec: { ...web.spec, power: 'Paused' }, status: { ...web.status, guest } };
  const bumps = (before: VM | undefined, after: VM | undefined) => vmQuota.fences({ before, after }, worldOf()).bump;

  it('is seen by whoever lets in what stands in for it, since that was let in by what it held', () => {
    assert.deepEqual(bumps(web, paused), ['fence/tenant/red']);
    assert.deepEqual(bumps(web, undefined), ['fence/tenant/red']);
  });

  it('is nobody’s business where nothing can stand in for it, or it holds as much', () => {
    const fixed = (vm: VM): VM => ({ ...vm, spec: { ...vm.spec, reschedulable: false } });
    assert.deepEqual(bumps(fixed(web), fixed(paused)), []);
    assert.deepEqual(bumps(web, { ...web, metadata: { ...web.metadata, labels: { a: 'b' } } }), []);
  });
});

describe('the fences of a quota', () => {
  const fences = (quota: object) => {
    const world = new World();
    world.set(TENANTS, 'red', aTenant('red', { quota }), 1);
    return vmQuota.fences({ before: undefined, after: web }, world);
  };

  it('keep VMs that are counted apart; those that are not wait for nobody but whoever sets a limit', () => {
    const [tenant, policy] = ['fence/tenant/red', 'fence/policy'];
    for (const quota of [{ maxVMs: 9 }, { maxVCPUs: 9 }, { maxMemory: '9Gi' }])
      assert.deepEqual(fences(quota), { bump: [tenant], compare: [policy] });
    for (const quota of [{}, { maxLeasedHosts: 1 }, { maxVolumeSize: '1Gi' }])
      assert.deepEqual(fences(quota), { bump: [], compare: [tenant, policy] });
  });
});

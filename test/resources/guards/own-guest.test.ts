import assert from 'node:assert/strict';
import { ownGuest } from '../../../resources/guards/own-guest.ts';
import { VMS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { AS_OPERATOR, aVM, DIGEST, EPOCH_START } from '../../harness/builders.ts';
import { aMember, aPool, aPoolWorld, owner } from '../../harness/pool-objects.ts';

const first = aVM({ name: 'first', spec: { guestID: 'guest-1' } });

function refusal(after: VM, before?: VM) {
  const world = new World();
  world.set(VMS, objectKey(first.metadata), first, 1);
  return ownGuest.judge({ before, after }, world, AS_OPERATOR);
}

describe('the guest of a VM', () => {
  const copy = aVM({ name: 'copy', spec: { guestID: 'guest-1', hostName: 'mac-1' } });

  it('is not named by a copy of it', () => {
    assert.deepEqual(refusal(copy), {
      answer: 'Forbidden',
      cause: 'GuestTaken',
      message: 'spec.guestID names the guest of VM red/first; a copy leaves guestID, hostName, epoch and resolved out',
    });
    assert.deepEqual(ownGuest.fences({ before: undefined, after: copy }, new World()).bump, [
      'fence/unique/guest/guest-1',
    ]);
  });

  it('is not taken over by a change', () => {
    const { guestID: _, ...spec } = copy.spec;
    assert.ok(refusal(copy, { ...copy, spec }));
  });

  it('is its own: nothing is asked of a VM that keeps its guest, or names its own uid', () => {
    assert.equal(refusal(copy, copy), undefined);
    const own = aVM({ name: 'own' });
    const named = { ...own, spec: { ...own.spec, guestID: own.metadata.uid } };
    assert.equal(refusal(named), undefined);
    assert.deepEqual(ownGuest.fences({ before: undefined, after: named }, new World()).bump, []);
  });
});

describe('a claim', () => {
  const member = aMember({ name: 'warm-1' });
  const before = aVM({ name: 'web', spec: { guestID: 'uid-of-red-web' } });
  const claim = { hostName: 'mac-1', epoch: 3, guestID: 'guest-of-warm-1' };
  const claiming = (spec: Partial<VM['spec']> = {}): VM => ({ ...before, spec: { ...before.spec, ...claim, ...spec } });
  const judged = (setting: Parameters<typeof aPoolWorld>[0], to = claiming(), from: VM | undefined = before) => {
    const refusal = ownGuest.judge({ before: from, after: to }, aPoolWorld(setting), AS_OPERATOR);
    return refusal && [refusal.answer === 'Forbidden' && refusal.cause, refusal.message];
  };
  const refused = (why: string, of = 'red/warm-1') => ['NotClaimable', `the guest of ${of} cannot be taken: ${why}`];
  const changed = (spec: Partial<VM['spec']>): VM => ({ ...member, spec: { ...member.spec, ...spec } });
  const withStatus = (status: VM['status']): VM => ({ ...member, status: { ...member.status, ...status } });
  const meta = (metadata: Partial<VM['metadata']>): VM => ({
    ...member,
    metadata: { ...member.metadata, ...metadata },
  });

  it('takes the guest of an idle member that is what the VM asks for', () => {
    assert.equal(judged({ vms: [member] }), undefined);
    const sameMemory = changed({ resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 2, memory: '4096Mi' } });
    assert.equal(judged({ vms: [sameMemory] }), undefined);
  });

  it('takes that of a shared pool only where the policy says so', () => {
    const strange = aMember({ name: 'warm-1', namespace: 'ops' });
    const shared = (policy?: boolean) => ({
      vms: [strange],
      pools: [aPool({ namespace: 'ops', spec: { shared: true } })],
      ...(policy === undefined ? {} : { policy: aPolicy({ allowSharedPoolClaims: policy }) }),
    });
    const no = refused('the policy does not allow claims of shared pools', 'ops/warm-1');
    assert.deepEqual(judged(shared()), no);
    assert.deepEqual(judged(shared(false)), no);
    assert.equal(judged(shared(true)), undefined);
    const others = {
      vms: [strange],
      pools: [aPool({ namespace: 'ops' })],
      policy: aPolicy({ allowSharedPoolClaims: true }),
    };
    assert.deepEqual(judged(others), refused('its pool is another tenant’s', 'ops/warm-1'));
  });

  const NOT_IDLE = refused('it is not idle');
  const OTHER = refused('it is of another image, size or class');
  const NO_TAKER = refused('only a VM that is to run, has no host yet and no volumes takes a guest of a pool');
  const ELSEWHERE = refused('it is on another host, or of another binding');
  const cases: readonly [string, VM, (readonly unknown[])?, VM?, VM?][] = [
    ['a member that goes', meta({ deletionTimestamp: EPOCH_START }), NOT_IDLE],
    [
      'a member that is not up yet',
      withStatus({ guest: { id: 'guest-of-warm-1', power: 'Starting', epoch: 3 } }),
      NOT_IDLE,
    ],
    ['a member that is not ready', withStatus({ conditions: [] }), NOT_IDLE],
    ['a member that is to stop', changed({ power: 'Stopped' }), NOT_IDLE],
    [
      'a member whose guest is of an older binding',
      withStatus({ guest: { id: 'guest-of-warm-1', power: 'Running', epoch: 2 } }),
      NOT_IDLE,
    ],
    ['a member that lost its pool', meta({ ownerReferences: [] }), NOT_IDLE],
    [
      'a member of a pool made anew',
      meta({ ownerReferences: [{ ...owner(), uid: 'older' }] }),
      refused('its pool is gone'),
    ],
    [
      'a member that somebody holds',
      meta({ finalizers: ['coppice.dev/guest', 'example.com/mine'] }),
      refused('it has a finalizer of somebody'),
    ],
    ['another image', changed({ resolved: { digest: 'sha256:bb', guestOS: 'linux', vcpus: 2, memory: '4Gi' } }), OTHER],
    ['another size', changed({ resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 4, memory: '4Gi' } }), OTHER],
    ['another class', changed({ class: 'reserved' }), OTHER],
    [
      'another disk',
      changed({ resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 2, memory: '4Gi', disk: '9Gi' } }),
      OTHER,
    ],
    ['a VM with volumes', member, NO_TAKER, claiming({ volumes: [{ name: 'data' }] })],
    ['a VM that is not to run', member, NO_TAKER, claiming({ power: 'Stopped' })],
    ['a member that would take one itself', member, NO_TAKER, claiming({ claimable: true })],
    [
      'a VM that is bound already',
      member,
      NO_TAKER,
      claiming(),
      { ...before, spec: { ...before.spec, hostName: 'mac-2' } },
    ],
    ['a binding to another host', member, ELSEWHERE, claiming({ hostName: 'mac-2' })],
    ['a binding of another epoch', member, ELSEWHERE, claiming({ epoch: 4 })],
  ];
  for (const [what, vm, why, to, from] of cases) {
    it(`does not go with ${what}`, () => assert.deepEqual(judged({ vms: [vm] }, to, from), why));
  }

  it('is no way to the guest of a VM that is not in a pool, nor of one that two name', () => {
    const { claimable: _, ...spec } = member.spec;
    assert.equal(judged({ vms: [{ ...member, spec }] })?.[0], 'GuestTaken');
    const second = aVM({ name: 'second', spec: { guestID: 'guest-of-warm-1' } });
    assert.equal(judged({ vms: [member, second] })?.[0], 'GuestTaken');
  });

  it('is not made by creating a VM', () => {
    const made = ownGuest.judge({ before: undefined, after: claiming() }, aPoolWorld({ vms: [member] }), AS_OPERATOR);
    assert.equal(made?.answer === 'Forbidden' && made.cause, 'GuestTaken');
  });

  it('is compared on the policy and alone with the guest', () => {
    const { bump, compare } = ownGuest.fences({ before, after: claiming() }, new World());
    assert.deepEqual([bump, compare], [['fence/unique/guest/guest-of-warm-1'], ['fence/policy']]);
  });
});

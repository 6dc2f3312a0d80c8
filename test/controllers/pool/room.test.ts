import assert from 'node:assert/strict';
import { quotaRoom } from '../../../controllers/pool/room.ts';
import type { Tenant } from '../../../resources/kinds/tenant.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aHost, aTenant, aVM, EPOCH_START } from '../../harness/builders.ts';
import { aMember, aPoolWorld } from '../../harness/pool-objects.ts';

const members = ['a', 'b', 'c'].map((name) => aMember({ name }));
const others = (n: number, spec: Partial<VM['spec']> = {}) =>
  Array.from({ length: n }, (_, i) => aVM({ name: `vm-${i}`, spec: { hostName: 'mac-1', ...spec } }));
const waiting = (n: number, spec: Partial<VM['spec']> = {}) =>
  Array.from({ length: n }, (_, i) => aVM({ name: `new-${i}`, spec }));

function room(
  quota: Tenant['spec']['quota'],
  vms: readonly VM[],
  host: Parameters<typeof aHost>[0] = {},
): readonly [number, number] {
  const tenants = [aTenant('red', quota === undefined ? {} : { quota })];
  const world = aPoolWorld({ tenants, vms: [...members, ...vms], hosts: [aHost(host)] });
  const found = quotaRoom(aMember({ name: 'next' }), members, world);
  return [found.room, found.tooMany];
}

describe('the room of a pool in the quota of its tenant', () => {
  it('is without end where there is no quota', () => {
    assert.deepEqual(room(undefined, others(5)), [Number.POSITIVE_INFINITY, 0]);
  });

  it('is what the tightest limit leaves: a member is a VM of 2 vCPUs and 4Gi', () => {
    assert.deepEqual(room({ maxVMs: 10, maxVCPUs: 100 }, others(2)), [5, 0]);
    assert.deepEqual(room({ maxVMs: 10, maxVCPUs: 13 }, others(2)), [1, 0]);
    assert.deepEqual(room({ maxVMs: 10, maxMemory: '31Gi' }, others(2)), [2, 0]);
  });

  it('is none when it is full, and too many are those beyond it', () => {
    assert.deepEqual(room({ maxVMs: 5 }, others(2)), [0, 0]);
    assert.deepEqual(room({ maxVMs: 4 }, others(3)), [0, 2]);
    assert.deepEqual(room({ maxVCPUs: 9 }, others(2)), [0, 1]);
  });

  it('leaves those be that VMs are about to take, and none for VMs that take none', () => {
    assert.deepEqual(room({ maxVMs: 3 }, waiting(2)), [0, 0]);
    assert.deepEqual(room({ maxVMs: 3 }, [...others(1), ...waiting(2)]), [0, 1]);
    assert.deepEqual(room({ maxVMs: 3 }, waiting(2, { class: 'reserved' })), [0, 2]);
    assert.deepEqual(room({ maxVMs: 1 }, waiting(5)), [0, 4], 'no more of them than there are members');
  });

  it('leaves none for VMs that placement has turned down, or where what is there cannot be taken', () => {
    const [vm] = waiting(1);
    const conditions = [
      {
        type: 'Scheduled',
        status: 'False',
        reason: 'InsufficientMemory',
        message: '',
        lastTransitionTime: EPOCH_START,
      },
    ] as const;
    assert.deepEqual(room({ maxVMs: 3 }, [{ ...vm, status: { conditions: [...conditions] } } as VM]), [0, 1]);
    assert.deepEqual(room({ maxVMs: 3 }, waiting(1), { ready: false }), [0, 1]);
    const held = members.map((each) => ({
      ...each,
      metadata: { ...each.metadata, finalizers: ['coppice.dev/guest', 'acme.io/hold'] },
    }));
    const tenants = [aTenant('red', { quota: { maxVMs: 3 } })];
    const world = aPoolWorld({ tenants, vms: [...held, ...waiting(1)], hosts: [aHost()] });
    assert.equal(quotaRoom(aMember({ name: 'next' }), held, world).tooMany, 1);
  });

  it('leaves each VM one of its own: not two that only one of them fits', () => {
    const selective = waiting(2, { hostSelector: { matchLabels: { rack: 'r1' } } });
    const [first, ...rest] = members.map((each) => ({ ...each, spec: { ...each.spec, hostName: 'mac-1' } }));
    const elsewhere = rest.map((each) => ({ ...each, spec: { ...each.spec, hostName: 'mac-2' } }));
    const there = [...elsewhere, ...(first === undefined ? [] : [first])];
    const tenants = [aTenant('red', { quota: { maxVMs: 3 } })];
    const hosts = [aHost({ labels: { rack: 'r1' } }), aHost({ name: 'mac-2' })];
    const world = aPoolWorld({ tenants, vms: [...there, ...selective], hosts });
    assert.equal(quotaRoom(aMember({ name: 'next' }), there, world).tooMany, 1);
  });
});

import assert from 'node:assert/strict';
import { ownGuest } from '../../../resources/guards/own-guest.ts';
import { VMS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { AS_OPERATOR, aVM } from '../../harness/builders.ts';

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

import assert from 'node:assert/strict';
import { aVM } from '../harness/builders.ts';
import { VmBindings } from './vm-bindings.ts';

const bound = (name: string, hostName: string | undefined, epoch: number) => {
  const vm = aVM({ name });
  return { ...vm, spec: { ...vm.spec, epoch, ...(hostName === undefined ? {} : { hostName }) } };
};

describe('the bindings of VMs', () => {
  it('are one host an epoch, and another host in a later one', () => {
    const bindings = new VmBindings();
    for (const vm of [bound('a', undefined, 1), bound('a', 'mac-1', 1), bound('a', 'mac-1', 1), bound('a', 'mac-2', 2)])
      bindings.note(vm);
    bindings.note(bound('b', 'mac-2', 1));
    assert.deepEqual(bindings.faults(), []);
    assert.equal(bindings.seen, 3);
  });

  it('that name two hosts in one epoch are found', () => {
    const bindings = new VmBindings();
    bindings.note(bound('a', 'mac-1', 1));
    bindings.note(bound('a', 'mac-2', 1));
    assert.match(bindings.faults().join(), /^a was bound to mac-1 and mac-2 in one epoch/);
  });
});

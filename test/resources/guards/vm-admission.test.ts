import assert from 'node:assert/strict';
import { IMAGES, TENANTS } from '../../../resources/guards/refs.ts';
import { admitVM, knownSize } from '../../../resources/guards/vm-admission.ts';
import { World } from '../../../resources/guards/world.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { anImage, aTenant, aVM } from '../../harness/builders.ts';

function aWorld(): World {
  const world = new World();
  world.set(TENANTS, 'red', aTenant(), 1);
  world.set(IMAGES, 'tiny', anImage(), 1);
  return world;
}

/** As it comes from a client that may write anything: the schema leaves what is inside a size to the guard. */
function wishing(size: unknown): VM {
  const vm = aVM();
  const { resolved: _, ...spec } = vm.spec;
  return { ...vm, spec: { ...spec, size: size as NonNullable<VM['spec']['size']> } };
}

describe('a VM is admitted', () => {
  it('with what its size comes to', () => {
    const { spec } = admitVM(wishing({ vcpus: 3, memory: '1Gi' }), undefined, { world: aWorld(), nowMs: 0 });
    assert.deepEqual(spec.resolved, { digest: 'sha256:aa', guestOS: 'linux', vcpus: 3, memory: '1Gi' });
  });
});

describe('a size that is none', () => {
  const cases: readonly [unknown, string, string][] = [
    [{ vcpus: 1.5 }, 'spec.size.vcpus', '1.5'],
    [{ vcpus: '4' }, 'spec.size.vcpus', '"4"'],
    [{ vcpus: {} }, 'spec.size.vcpus', '{}'],
    [{ vcpus: 9_007_199_254_740_993n }, 'spec.size.vcpus', '9007199254740993'],
    [{ memory: '0.5' }, 'spec.size.memory', '"0.5"'],
    [{ memory: 10n ** 20n }, 'spec.size.memory', '100000000000000000000'],
    [{ disk: '-5Gi' }, 'spec.size.disk', '"-5Gi"'],
    [{ gpus: [10n ** 20n] }, 'spec.size.gpus', '[100000000000000000000]'],
    [10n ** 20n, 'spec.size', '100000000000000000000'],
    ['constructor', 'spec.size', '"constructor"'],
  ];
  for (const [size, field, shown] of cases) {
    it(`is refused by its own name, and nothing is made of it: ${field} ${shown}`, () => {
      const world = aWorld();
      const admitted = admitVM(wishing(size), undefined, { world, nowMs: 0 });
      assert.equal(admitted.spec.resolved, undefined);
      const refusal = knownSize.judge({ before: undefined, after: admitted }, world);
      assert.ok(refusal?.answer === 'Invalid');
      assert.equal(refusal.field, field);
      assert.ok(refusal.message.startsWith(`Invalid value: ${shown}: `), refusal.message);
    });
  }
});

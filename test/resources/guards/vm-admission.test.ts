import assert from 'node:assert/strict';
import { IMAGES, TENANTS } from '../../../resources/guards/refs.ts';
import { admitTenant, TENANT_FINALIZER } from '../../../resources/guards/tenant-namespace.ts';
import { admitVM, GUEST_FINALIZER, knownSize } from '../../../resources/guards/vm-admission.ts';
import { World } from '../../../resources/guards/world.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { AS_OPERATOR, anImage, aTenant, aVM, EPOCH_START } from '../../harness/builders.ts';

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
    const { spec } = admitVM(wishing({ vcpus: 3, memory: '1Gi' }), undefined, { world: aWorld(), ...AS_OPERATOR });
    assert.deepEqual(spec.resolved, { digest: 'sha256:aa', guestOS: 'linux', vcpus: 3, memory: '1Gi' });
  });
});

describe('what stands for a guest or a tenant', () => {
  const context = { world: aWorld(), ...AS_OPERATOR };
  const withFinalizers = (finalizers: string[], deletionTimestamp?: string): VM => {
    const vm = aVM();
    const deletion = deletionTimestamp === undefined ? {} : { deletionTimestamp };
    return { ...vm, metadata: { ...vm.metadata, finalizers, ...deletion } };
  };

  it('keeps its finalizer while it lives, beside those of others, whatever a client sends', () => {
    const before = withFinalizers([GUEST_FINALIZER]);
    assert.deepEqual(admitVM(withFinalizers([]), before, context).metadata.finalizers, [GUEST_FINALIZER]);
    const both = admitVM(withFinalizers(['example.com/mine']), before, context);
    assert.deepEqual(both.metadata.finalizers, ['example.com/mine', GUEST_FINALIZER]);
    assert.deepEqual(admitTenant(aTenant(), undefined, context).metadata.finalizers, [TENANT_FINALIZER]);
  });

  it('may lose it once it is being deleted', () => {
    const before = withFinalizers([GUEST_FINALIZER], EPOCH_START);
    assert.deepEqual(admitVM(withFinalizers([], EPOCH_START), before, context).metadata.finalizers, []);
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
      const admitted = admitVM(wishing(size), undefined, { world, ...AS_OPERATOR });
      assert.equal(admitted.spec.resolved, undefined);
      const refusal = knownSize.judge({ before: undefined, after: admitted }, world, AS_OPERATOR);
      assert.ok(refusal?.answer === 'Invalid');
      assert.equal(refusal.field, field);
      assert.ok(refusal.message.startsWith(`Invalid value: ${shown}: `), refusal.message);
    });
  }
});

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kvmNests } from '../../../../nodelet/drivers/qemu/nested.ts';

describe('whether guests of KVM can run guests', () => {
  let modules: string;
  beforeEach(async () => {
    modules = await mkdtemp(join(tmpdir(), 'coppice-modules-'));
  });
  afterEach(() => rm(modules, { recursive: true }));
  const say = async (module: string, text: string) => {
    await mkdir(join(modules, module, 'parameters'), { recursive: true });
    await writeFile(join(modules, module, 'parameters', 'nested'), text);
  };

  it('is what its module says, in either form', async () => {
    assert.equal(await kvmNests(modules), false);
    for (const [module, text, nests] of [
      ['kvm_intel', 'N\n', false],
      ['kvm_amd', '1\n', true],
      ['kvm_amd', '0\n', false],
      ['kvm_intel', 'Y\n', true],
    ] as const) {
      await say(module, text);
      assert.equal(await kvmNests(modules), nests, `${module} ${text}`);
    }
  });
});

import { readFile } from 'node:fs/promises';

/** Whether KVM lets guests run guests, as its module for this processor says. `modules` is where the kernel shows its modules. */
export async function kvmNests(modules = '/sys/module'): Promise<boolean> {
  for (const module of ['kvm_intel', 'kvm_amd']) {
    const told = await readFile(`${modules}/${module}/parameters/nested`, 'utf8').catch(() => '');
    if (/^[Y1]/.test(told)) return true;
  }
  return false;
}

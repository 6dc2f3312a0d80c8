import { CoppiceCommand, outputFlag, targetFlags, targetOf, words } from '../../coppice-command.ts';
import { tenantName } from '../../tenant-ref.ts';

export default class TenantGet extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Show a tenant.';
  static override usage = 'tenant get NAME [-o FORM]';
  static override examples = ['coppice tenant get acme', 'coppice tenant get acme -o yaml'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    ...outputFlag,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(TenantGet);
    const name = tenantName(words(raw), 'tenant get');
    const { getTenants } = await import('../../actions/tenant-get.ts');
    await getTenants(this.io, targetOf(flags), { name, output: flags.output });
  }
}

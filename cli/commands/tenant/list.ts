import { CoppiceCommand, outputFlag, refuseWords, targetFlags, targetOf } from '../../coppice-command.ts';

export default class TenantList extends CoppiceCommand {
  static override strict = false;
  static override summary = 'List tenants, and what they hold.';
  static override usage = 'tenant list [-o FORM]';
  static override examples = ['coppice tenant list', 'coppice tenant list -o wide'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    ...outputFlag,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(TenantList);
    refuseWords(raw, 'tenant list');
    const { getTenants } = await import('../../actions/tenant-get.ts');
    await getTenants(this.io, targetOf(flags), { output: flags.output });
  }
}

import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class TenantEnable extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Let a tenant in again that was disabled.';
  static override usage = 'tenant enable NAME';
  static override examples = ['coppice tenant enable acme'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(TenantEnable);
    const { setDisabled } = await import('../../actions/tenant-disable.ts');
    await setDisabled(this.io, targetOf(flags), words(raw), false);
  }
}

import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class TenantDisable extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Turn a tenant away: its tokens are refused, and nothing new begins in it.';
  static override description = 'What runs, runs on; leases and VMs still end when their time is over.';
  static override usage = 'tenant disable NAME';
  static override examples = ['coppice tenant disable acme'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(TenantDisable);
    const { setDisabled } = await import('../../actions/tenant-disable.ts');
    await setDisabled(this.io, targetOf(flags), words(raw), true);
  }
}

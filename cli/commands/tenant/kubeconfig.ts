import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class TenantKubeconfig extends CoppiceCommand {
  static override strict = false;
  static override summary = "Make the token of a tenant's owner, and print a kubeconfig with it.";
  static override description = 'The token before is refused from then on. Keep the file readable by its owner only.';
  static override usage = 'tenant kubeconfig NAME';
  static override examples = ['(umask 077; coppice tenant kubeconfig acme > acme.kubeconfig)'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(TenantKubeconfig);
    const { makeTenantKubeconfig } = await import('../../actions/tenant-token.ts');
    await makeTenantKubeconfig(this.io, targetOf(flags), words(raw));
  }
}

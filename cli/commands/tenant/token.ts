import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class TenantToken extends CoppiceCommand {
  static override strict = false;
  static override summary = "Make the token of a tenant's owner, and print it once.";
  static override description =
    "Prints the token, and nothing else; it is not told again, and the one before is refused from then on. Whoever has it may do everything in the tenant's namespace.";
  static override usage = 'tenant token NAME';
  static override examples = ['coppice tenant token acme'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(TenantToken);
    const { makeTenantToken } = await import('../../actions/tenant-token.ts');
    await makeTenantToken(this.io, targetOf(flags), words(raw));
  }
}

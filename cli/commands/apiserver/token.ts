import { CoppiceCommand, refuseWords, targetFlags, targetOf } from '../../coppice-command.ts';

export default class ApiserverToken extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Print a token by which one new API server joins, within fifteen minutes.';
  static override description =
    'Whoever has the token gets every key of the fleet: hand it over as you would a private key. It is good once.';
  static override flags = { kubeconfig: targetFlags.kubeconfig, context: targetFlags.context };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(ApiserverToken);
    refuseWords(raw, 'apiserver token');
    const { printJoinToken } = await import('../../serve/joining/token.ts');
    await printJoinToken(this.io, targetOf(flags));
  }
}

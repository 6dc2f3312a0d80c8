import { CoppiceCommand, outputFlag, targetFlags, targetOf } from '../coppice-command.ts';

export default class Version extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Print the versions of this program and of the server.';
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    ...outputFlag,
  };

  async run(): Promise<void> {
    const { flags } = await this.parse(Version);
    const { showVersion } = await import('../actions/version.ts');
    await showVersion(this.io, targetOf(flags), this.config.version, flags.output);
  }
}

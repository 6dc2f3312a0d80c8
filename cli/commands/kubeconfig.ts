import * as Flags from '@oclif/core/flags';
import { CoppiceCommand } from '../coppice-command.ts';
import { installationFlags } from '../installation-flags.ts';

export default class Kubeconfig extends CoppiceCommand {
  static override strict = false;
  static override summary = "Say how kubectl reaches this installation's server.";
  static override description =
    'Prints a line for your shell: eval "$(coppice kubeconfig)". With --merge the context is added to the kubeconfig kubectl uses anyway.';
  static override flags = {
    home: installationFlags.home,
    raw: Flags.boolean({ default: false, description: 'print the kubeconfig itself' }),
    merge: Flags.boolean({
      default: false,
      description: 'add it to the first file of $KUBECONFIG that is not this one, or ~/.kube/config',
      exclusive: ['raw'],
    }),
  };

  async run(): Promise<void> {
    const { flags } = await this.parse(Kubeconfig);
    const { kubeconfig } = await import('../actions/kubeconfig.ts');
    await kubeconfig(this.io, { home: flags.home, raw: flags.raw, merge: flags.merge });
  }
}

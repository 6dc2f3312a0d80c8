import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class DrainStatus extends CoppiceCommand {
  static override strict = false;
  static override summary =
    'Tell how far the drains of hosts are, and what stands in their way; of all that are drained where none is named.';
  static override usage = 'drain-status [HOST…] [-o json]';
  static override examples = ['coppice drain-status', 'coppice drain-status mac-1'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    output: Flags.string({ char: 'o', description: 'json: the same for programs', options: ['json'] }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(DrainStatus);
    const { drainStatus } = await import('../actions/drain-status.ts');
    await drainStatus(this.io, targetOf(flags), words(raw), flags.output === 'json');
  }
}

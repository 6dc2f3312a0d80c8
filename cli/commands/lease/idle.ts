import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, outputFlag, refuseWords, targetFlags, targetOf } from '../../coppice-command.ts';

export default class LeaseIdle extends CoppiceCommand {
  static override strict = false;
  static override summary =
    'List leases whose hosts no VM is on: since when, what that costs, when they can be released.';
  static override usage = 'lease idle [-A] [-o FORM]';
  static override examples = ['coppice lease idle -n acme', 'coppice lease idle -A -o json'];
  static override flags = {
    ...targetFlags,
    ...outputFlag,
    'all-namespaces': Flags.boolean({ default: false, char: 'A', description: 'of all namespaces' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(LeaseIdle);
    refuseWords(raw, 'lease idle');
    const { idleLeases } = await import('../../actions/lease-idle.ts');
    await idleLeases(this.io, targetOf(flags), { output: flags.output, allNamespaces: flags['all-namespaces'] });
  }
}

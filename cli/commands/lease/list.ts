import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, outputFlag, refuseWords, targetFlags, targetOf } from '../../coppice-command.ts';

export default class LeaseList extends CoppiceCommand {
  static override strict = false;
  static override summary = 'List leases: their hosts, and until when.';
  static override usage = 'lease list [-A] [-o FORM]';
  static override examples = ['coppice lease list -n acme', 'coppice lease list -A -o wide'];
  static override flags = {
    ...targetFlags,
    ...outputFlag,
    'all-namespaces': Flags.boolean({ default: false, char: 'A', description: 'of all namespaces' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(LeaseList);
    refuseWords(raw, 'lease list');
    const { getLeases } = await import('../../actions/lease-get.ts');
    await getLeases(this.io, targetOf(flags), { output: flags.output, allNamespaces: flags['all-namespaces'] });
  }
}

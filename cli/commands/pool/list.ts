import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, outputFlag, refuseWords, targetFlags, targetOf } from '../../coppice-command.ts';

export default class PoolList extends CoppiceCommand {
  static override strict = false;
  static override summary = 'List pools: how many of their members are up.';
  static override usage = 'pool list [-A] [-o FORM]';
  static override examples = ['coppice pool list -n acme', 'coppice pool list -A -o wide'];
  static override flags = {
    ...targetFlags,
    ...outputFlag,
    'all-namespaces': Flags.boolean({ default: false, char: 'A', description: 'of all namespaces' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(PoolList);
    refuseWords(raw, 'pool list');
    const { get } = await import('../../actions/get.ts');
    await get(this.io, targetOf(flags), {
      words: ['pools.coppice.dev'],
      output: flags.output,
      allNamespaces: flags['all-namespaces'],
      labelSelector: undefined,
      fieldSelector: undefined,
      watch: false,
      ignoreNotFound: false,
      showManagedFields: false,
    });
  }
}

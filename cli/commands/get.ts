import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, outputFlag, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Get extends CoppiceCommand {
  static override strict = false;
  static override summary = 'List objects.';
  static override usage = 'get TYPE[,TYPE…] [NAME…] | TYPE/NAME…';
  static override examples = [
    'coppice get vms -A',
    'coppice get vm/hello -n demo -o yaml',
    'coppice get hosts -o wide -w',
  ];
  static override flags = {
    ...targetFlags,
    ...outputFlag,
    'all-namespaces': Flags.boolean({ default: false, char: 'A', description: 'of all namespaces' }),
    selector: Flags.string({ char: 'l', description: 'only those with these labels', helpValue: 'KEY=VALUE' }),
    'field-selector': Flags.string({ description: 'only those with these fields', helpValue: 'PATH=VALUE' }),
    watch: Flags.boolean({ default: false, char: 'w', description: 'go on and show each change' }),
    'show-managed-fields': Flags.boolean({
      default: false,
      description: 'with -o json or yaml, show who set which field',
    }),
    'ignore-not-found': Flags.boolean({ default: false, description: 'a name that does not exist is no error' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Get);
    const { get } = await import('../actions/get.ts');
    await get(this.io, targetOf(flags), {
      words: words(raw),
      output: flags.output,
      allNamespaces: flags['all-namespaces'],
      labelSelector: flags.selector,
      fieldSelector: flags['field-selector'],
      watch: flags.watch,
      ignoreNotFound: flags['ignore-not-found'],
      showManagedFields: flags['show-managed-fields'],
    });
  }
}

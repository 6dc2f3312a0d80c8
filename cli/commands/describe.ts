import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Describe extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Show objects in full, with their events.';
  static override usage = 'describe TYPE [NAME…] | TYPE/NAME…';
  static override examples = ['coppice describe vm hello -n demo'];
  static override flags = {
    ...targetFlags,
    'all-namespaces': Flags.boolean({ default: false, char: 'A', description: 'of all namespaces' }),
    selector: Flags.string({ char: 'l', description: 'only those with these labels', helpValue: 'KEY=VALUE' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Describe);
    const { describe } = await import('../actions/describe.ts');
    await describe(this.io, targetOf(flags), {
      words: words(raw),
      allNamespaces: flags['all-namespaces'],
      labelSelector: flags.selector,
    });
  }
}

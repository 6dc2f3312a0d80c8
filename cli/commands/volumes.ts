import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, outputFlag, refuseWords, targetFlags, targetOf } from '../coppice-command.ts';

export default class Volumes extends CoppiceCommand {
  static override strict = false;
  static override summary = 'List volumes: where they lie, and which VM has them.';
  static override usage = 'volumes [-A] [-o FORM]';
  static override examples = ['coppice volumes -n acme', 'coppice volumes -A -o wide'];
  static override flags = {
    ...targetFlags,
    ...outputFlag,
    'all-namespaces': Flags.boolean({ default: false, char: 'A', description: 'of all namespaces' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Volumes);
    refuseWords(raw, 'volumes');
    const { listVolumes } = await import('../actions/volume-list.ts');
    await listVolumes(this.io, targetOf(flags), { output: flags.output, allNamespaces: flags['all-namespaces'] });
  }
}

import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, outputFlag, refuseWords, targetFlags, targetOf } from '../../coppice-command.ts';

export default class VolumeList extends CoppiceCommand {
  static override strict = false;
  static override summary = 'List volumes: where they lie, and which VM has them.';
  static override usage = 'volume list [-A] [-o FORM]';
  static override examples = ['coppice volume list -n acme', 'coppice volumes -A -o wide'];
  static override flags = {
    ...targetFlags,
    ...outputFlag,
    'all-namespaces': Flags.boolean({ default: false, char: 'A', description: 'of all namespaces' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(VolumeList);
    refuseWords(raw, 'volume list');
    const { listVolumes } = await import('../../actions/volume-list.ts');
    await listVolumes(this.io, targetOf(flags), { output: flags.output, allNamespaces: flags['all-namespaces'] });
  }
}

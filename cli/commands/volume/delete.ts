import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class VolumeDelete extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Delete volumes, and what is on them.';
  static override description =
    'Not while a VM has one. Asks first on a terminal; elsewhere it needs -y. Waits until the files are gone from their hosts.';
  static override usage = 'volume delete NAME… [-y]';
  static override examples = ['coppice volume delete pg-data -n acme -y'];
  static override flags = {
    ...targetFlags,
    yes: Flags.boolean({ default: false, char: 'y', description: 'do not ask' }),
    wait: Flags.boolean({ description: 'wait until they are gone', default: true, allowNo: true }),
    timeout: Flags.string({ description: 'how long to wait', default: '60s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(VolumeDelete);
    const { deleteVolume } = await import('../../actions/volume-delete.ts');
    const { yes, wait, timeout } = flags;
    await deleteVolume(this.io, targetOf(flags), { words: words(raw), yes, wait, timeout });
  }
}

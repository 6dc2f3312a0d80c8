import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class VolumeResize extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Make a volume larger, while no VM has it.';
  static override usage = 'volume resize NAME --size SIZE';
  static override examples = ['coppice volume resize pg-data --size 100Gi -n acme'];
  static override flags = {
    ...targetFlags,
    size: Flags.string({ description: 'what it is to have; never less than it has', helpValue: '100Gi' }),
    wait: Flags.boolean({ description: 'wait until its file has grown', default: true, allowNo: true }),
    timeout: Flags.string({ description: 'how long to wait', default: '60s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(VolumeResize);
    const { resizeVolume } = await import('../../actions/volume-resize.ts');
    const { size, wait, timeout } = flags;
    await resizeVolume(this.io, targetOf(flags), { words: words(raw), size, wait, timeout });
  }
}

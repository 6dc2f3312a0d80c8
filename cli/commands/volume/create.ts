import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class VolumeCreate extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Make a disk that outlives the VMs that have it.';
  static override description =
    'It comes to lie on the host with the most free disk of those that the tenant leases, else of those that nobody does, and stays there.';
  static override usage = 'volume create NAME --size SIZE';
  static override examples = ['coppice volume create pg-data --size 50Gi -n acme'];
  static override flags = {
    ...targetFlags,
    size: Flags.string({ description: 'from 1Gi to 2048Gi', helpValue: '50Gi' }),
    wait: Flags.boolean({ description: 'wait until it lies on a host', default: true, allowNo: true }),
    timeout: Flags.string({ description: 'how long to wait', default: '60s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(VolumeCreate);
    const { createVolume } = await import('../../actions/volume-create.ts');
    const { size, wait, timeout } = flags;
    await createVolume(this.io, targetOf(flags), { words: words(raw), size, wait, timeout });
  }
}

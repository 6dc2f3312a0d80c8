import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class PoolCreate extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Keep VMs of an image warm: a new VM like them takes one, and is up at once.';
  static override description = 'What is kept warm counts against the quota, and gives way to VMs that could take it.';
  static override usage = 'pool create NAME --image IMAGE [FLAGS]';
  static override examples = [
    'coppice pool create warm -n acme --image debian-13 --vcpus 2 --memory 4Gi --replicas 3 --wait',
    'coppice pool create common -n ops --image debian-13 --size small --replicas 10 --shared',
  ];
  static override flags = {
    ...targetFlags,
    image: Flags.string({ description: 'what they start from', helpValue: 'IMAGE', required: true }),
    replicas: Flags.integer({ description: 'how many are kept', min: 0, default: 1, helpValue: 'N' }),
    size: Flags.string({ description: 'small, medium or large', helpValue: 'SIZE' }),
    vcpus: Flags.integer({ description: 'processors of each', min: 1, helpValue: 'N' }),
    memory: Flags.string({ description: 'memory of each', helpValue: '4Gi' }),
    disk: Flags.string({ description: 'disk of each', helpValue: '20Gi' }),
    class: Flags.string({ description: 'what of each vCPU is guaranteed', options: ['flex', 'reserved'] }),
    shared: Flags.boolean({ default: false, description: 'operators: every tenant may take one' }),
    wait: Flags.boolean({ default: false, description: 'wait until it is warm' }),
    timeout: Flags.string({ description: 'how long to wait', default: '60s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(PoolCreate);
    const { createPool } = await import('../../actions/pool-create.ts');
    await createPool(this.io, targetOf(flags), {
      words: words(raw),
      image: flags.image,
      replicas: flags.replicas,
      size: flags.size,
      vcpus: flags.vcpus,
      memory: flags.memory,
      disk: flags.disk,
      vmClass: flags.class,
      shared: flags.shared,
      wait: flags.wait,
      timeout: flags.timeout,
    });
  }
}

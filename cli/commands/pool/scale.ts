import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class PoolScale extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Say how many members a pool keeps, where no schedule says another number.';
  static override usage = 'pool scale NAME N [--wait]';
  static override examples = ['coppice pool scale warm 5 -n acme --wait', 'coppice pool scale warm 0 -n acme'];
  static override flags = {
    ...targetFlags,
    wait: Flags.boolean({ default: false, description: 'wait until that many are up' }),
    timeout: Flags.string({ description: 'how long to wait', default: '60s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(PoolScale);
    const { scalePool } = await import('../../actions/pool-scale.ts');
    await scalePool(this.io, targetOf(flags), { words: words(raw), wait: flags.wait, timeout: flags.timeout });
  }
}

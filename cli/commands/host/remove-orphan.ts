import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class HostRemoveOrphan extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Remove guests that no VM object names, with their disks.';
  static override description =
    'They are listed in status.orphans of their Host. Asks first on a terminal; elsewhere it needs -y.';
  static override usage = 'host remove-orphan HOST GUEST… [-y] [--timeout DURATION | --no-wait]';
  static override examples = ['coppice host remove-orphan mac-1 7c1f40c1-1111-4222-8333-444455556666'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    yes: Flags.boolean({ default: false, char: 'y', description: 'do not ask' }),
    wait: Flags.boolean({ default: true, allowNo: true, description: 'wait until they are gone' }),
    timeout: Flags.string({ default: '60s', description: 'how long to wait, such as 60s; 0s is for ever' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(HostRemoveOrphan);
    const { removeOrphans } = await import('../../actions/remove-orphan.ts');
    const { yes, wait, timeout } = flags;
    await removeOrphans(this.io, targetOf(flags), { words: words(raw), yes, wait, timeout });
  }
}

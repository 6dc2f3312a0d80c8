import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class HostTrustStore extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Let hosts believe a store that was restored or put back.';
  static override description =
    'From then on guests are stopped and removed there as the store says. Look at "coppice status" first: guests that it does not know are orphans.';
  static override usage = 'host trust-store NAME… | --all';
  static override examples = ['coppice host trust-store mac-1', 'coppice host trust-store --all'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    all: Flags.boolean({ default: false, description: 'all hosts that do not trust their store' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(HostTrustStore);
    const { trustStore } = await import('../../actions/trust-store.ts');
    await trustStore(this.io, targetOf(flags), { words: words(raw), all: flags.all });
  }
}

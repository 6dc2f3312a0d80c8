import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Scrub extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Clear a host of everything of its last lessee, and wait until it is.';
  static override description =
    'Refused while VMs are bound to it, guests without a VM are on it, or it is leased. Asks first on a terminal when it is forced; elsewhere that needs -y.';
  static override usage = 'scrub HOST [--force] [-y] [--timeout DURATION | --no-wait]';
  static override examples = ['coppice scrub mac-1', 'coppice scrub mac-1 --force -y --timeout 15m'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    force: Flags.boolean({ default: false, description: 'delete the VMs and guests that remain' }),
    yes: Flags.boolean({ default: false, char: 'y', description: 'do not ask' }),
    wait: Flags.boolean({ default: true, allowNo: true, description: 'wait until it is answered' }),
    timeout: Flags.string({ default: '60s', description: 'how long to wait, such as 15m; 0s is for ever' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Scrub);
    const { scrubHost } = await import('../actions/scrub.ts');
    const { force, yes, wait, timeout } = flags;
    await scrubHost(this.io, targetOf(flags), { words: words(raw), force, yes, wait, timeout });
  }
}

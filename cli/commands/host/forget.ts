import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class HostForget extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Give a host up that does not come back, with what is on it.';
  static override description =
    'Its VMs are Failed (HostLost), its lease ends as soon as its minimum is over, and the Host goes. Refused while its nodelet is heard, unless forced. Should the machine come back, its guests are orphans. Asks first on a terminal; elsewhere it needs -y.';
  static override usage = 'host forget HOST [--force] [-y] [--timeout DURATION | --no-wait]';
  static override examples = ['coppice host forget mac-3'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    force: Flags.boolean({ default: false, description: 'also one whose nodelet is heard' }),
    yes: Flags.boolean({ default: false, char: 'y', description: 'do not ask' }),
    wait: Flags.boolean({ default: true, allowNo: true, description: 'wait until its VMs say so' }),
    timeout: Flags.string({ default: '60s', description: 'how long to wait, such as 60s; 0s is for ever' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(HostForget);
    const { forgetHost } = await import('../../actions/forget-host.ts');
    const { force, yes, wait, timeout } = flags;
    await forgetHost(this.io, targetOf(flags), { words: words(raw), force, yes, wait, timeout });
  }
}

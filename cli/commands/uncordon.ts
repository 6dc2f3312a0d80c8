import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Uncordon extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Let hosts take new VMs and leases again; a drain of them ends with it.';
  static override usage = 'uncordon HOST…';
  static override examples = ['coppice uncordon mac-1'];
  static override flags = { kubeconfig: targetFlags.kubeconfig, context: targetFlags.context };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Uncordon);
    const { cordon } = await import('../actions/cordon.ts');
    await cordon(this.io, targetOf(flags), words(raw), false);
  }
}

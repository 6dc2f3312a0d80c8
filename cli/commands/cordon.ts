import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Cordon extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Keep new VMs and leases off hosts; what is there stays.';
  static override usage = 'cordon HOST…';
  static override examples = ['coppice cordon mac-1'];
  static override flags = { kubeconfig: targetFlags.kubeconfig, context: targetFlags.context };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Cordon);
    const { cordon } = await import('../actions/cordon.ts');
    await cordon(this.io, targetOf(flags), words(raw), true);
  }
}

import { CoppiceCommand, outputFlag, targetFlags, targetOf, words } from '../../coppice-command.ts';
import { leaseName } from '../../lease-ref.ts';

export default class LeaseGet extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Show one lease.';
  static override usage = 'lease get NAME [-o FORM]';
  static override examples = ['coppice lease get ci -n acme -o yaml'];
  static override flags = { ...targetFlags, ...outputFlag };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(LeaseGet);
    const name = leaseName(words(raw), 'lease get');
    const { getLeases } = await import('../../actions/lease-get.ts');
    await getLeases(this.io, targetOf(flags), { name, output: flags.output, allNamespaces: false });
  }
}

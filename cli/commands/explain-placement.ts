import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';
import { vmName } from '../vm-ref.ts';

export default class ExplainPlacement extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Tell why a VM waits for a host, or is where it is, and what to do about it.';
  static override description =
    'A line for each host: whether the VM fits, and else what stands in the way. It is judged now, as placement would; what placement said last is told besides. Whoever may not see hosts is told only that.';
  static override usage = 'explain-placement VM [-n NAMESPACE] [-o json]';
  static override examples = [
    'coppice explain-placement web -n acme',
    'coppice explain-placement vm/web -n acme -o json',
  ];
  static override flags = {
    ...targetFlags,
    output: Flags.string({ char: 'o', description: 'json: the same for programs', options: ['json'] }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(ExplainPlacement);
    const name = vmName(words(raw), 'explain-placement');
    const { explainPlacement } = await import('../actions/explain-placement.ts');
    await explainPlacement(this.io, targetOf(flags), { name, json: flags.output === 'json' });
  }
}

import * as Flags from '@oclif/core/flags';
import { applyFlags, applyOptions } from '../apply-flags.ts';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Plan extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Tell what applying files would change, and what that costs.';
  static override description =
    'The server is asked what would come of each object, and nothing is changed. What is to be paid is reckoned from the price list: the minimum of new leases is owed at once, VMs and pools cost nothing on Macs that their tenant leases. Ends with 0 when nothing changes, with 2 when something does, with 1 when something would be turned down.';
  static override usage = 'plan -f FILE|FOLDER|- | -k FOLDER [-o json]';
  static override examples = ['coppice plan -k manifests/gitops-example', 'coppice plan -f lease.yaml -n acme -o json'];
  static override flags = {
    ...targetFlags,
    ...applyFlags,
    output: Flags.string({ char: 'o', description: 'json: the same for programs', options: ['json'] }),
    'server-side': Flags.boolean({ default: false, description: 'plan an apply --server-side' }),
    prune: Flags.boolean({
      description: 'tell also what is of the set and would be deleted',
      dependsOn: ['applyset'],
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Plan);
    const { plan } = await import('../actions/plan.ts');
    await plan(this.io, targetOf(flags), {
      words: words(raw),
      ...applyOptions(flags),
      json: flags.output === 'json',
    });
  }
}

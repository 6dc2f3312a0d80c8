import * as Flags from '@oclif/core/flags';
import { applyFlags, applyOptions } from '../apply-flags.ts';
import { CoppiceCommand, outputFlag, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Apply extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Make objects as files say: create them, or change what differs.';
  static override usage = 'apply -f FILE|FOLDER|- | -k FOLDER';
  static override examples = ['coppice apply -k manifests/quickstart', 'coppice apply -f fleet.yaml --dry-run server'];
  static override flags = {
    ...targetFlags,
    ...applyFlags,
    output: outputFlag.output,
    'dry-run': Flags.string({
      description: 'let the server check everything and change nothing',
      options: ['none', 'server'],
      default: 'none',
    }),
    'server-side': Flags.boolean({
      default: false,
      description: 'let the server merge, and keep record of who set which field',
    }),
    prune: Flags.boolean({
      description: 'delete what is of the set and is not applied any more',
      dependsOn: ['applyset'],
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Apply);
    const { apply } = await import('../actions/apply.ts');
    await apply(this.io, targetOf(flags), {
      words: words(raw),
      ...applyOptions(flags),
      dryRun: flags['dry-run'] === 'server',
      output: flags.output,
    });
  }
}

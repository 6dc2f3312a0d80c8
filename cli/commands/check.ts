import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, refuseWords, targetFlags, targetOf } from '../coppice-command.ts';

export default class Check extends CoppiceCommand {
  static override strict = false;
  static override summary =
    'Watch the whole fleet and judge it at every revision: leases, quotas, rooms, scrubs, guests.';
  static override description =
    'Prints a line for each promise that is broken, and a summary at the end. Ends with 1 when there was one.';
  static override examples = ['coppice check --once', 'coppice check --for 10m', 'coppice check --for 10m -o json'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    once: Flags.boolean({ default: false, description: 'judge what there is now, and end' }),
    for: Flags.string({ description: 'how long to watch, such as 10m; until Ctrl-C when absent', helpValue: 'TIME' }),
    output: Flags.string({ char: 'o', description: 'json: an object a line', options: ['json'] }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Check);
    refuseWords(raw, 'check');
    const { check } = await import('../actions/check.ts');
    await check(this.io, targetOf(flags), { once: flags.once, time: flags.for, json: flags.output === 'json' });
  }
}

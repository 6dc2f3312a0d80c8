import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, refuseWords, targetFlags, targetOf } from '../coppice-command.ts';

export default class Rebalance extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Plan which VMs could leave hosts that are full, and where they fit.';
  static override description =
    'A plan only: nothing is moved, and there is no other mode than --dry-run. Hosts whose guests hold more of their memory than --high-water are brought back to it, and no other past it. Only VMs with reschedulable: true and ephemeral ones (a ttl, or the label coppice.dev/ephemeral=true) are proposed.';
  static override usage = 'rebalance --dry-run [--high-water PART] [--max-moves N] [-o json]';
  static override examples = [
    'coppice rebalance --dry-run',
    'coppice rebalance --dry-run --high-water 0.7 --max-moves 3 -o json',
  ];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    'dry-run': Flags.boolean({ default: false, description: 'needed: plan, and change nothing' }),
    'high-water': Flags.string({
      default: '0.85',
      description: 'the part of its memory that guests should hold at most',
      helpValue: 'PART',
    }),
    'max-moves': Flags.integer({ default: 10, min: 1, description: 'how many moves at most', helpValue: 'N' }),
    output: Flags.string({ char: 'o', description: 'json: the same for programs', options: ['json'] }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Rebalance);
    refuseWords(raw, 'rebalance');
    const { rebalance } = await import('../actions/rebalance.ts');
    await rebalance(this.io, targetOf(flags), {
      dryRun: flags['dry-run'],
      highWater: flags['high-water'],
      maxMoves: flags['max-moves'],
      json: flags.output === 'json',
    });
  }
}

import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';
import { poolName } from '../../pool-ref.ts';

export default class PoolDelete extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Delete a pool and its idle members. VMs that took one stay.';
  static override description = 'Asks first on a terminal; elsewhere it needs -y.';
  static override usage = 'pool delete NAME [-y]';
  static override examples = ['coppice pool delete warm -n acme -y'];
  static override flags = {
    ...targetFlags,
    wait: Flags.boolean({ description: 'wait until it is gone', default: true, allowNo: true }),
    timeout: Flags.string({ description: 'how long to wait, such as 60s; 0s is for ever', default: '0s' }),
    yes: Flags.boolean({ default: false, char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(PoolDelete);
    const named = words(raw);
    const names =
      named.length === 0 ? [poolName([], 'pool delete')] : named.map((word) => poolName([word], 'pool delete'));
    const { deleteObjects } = await import('../../actions/delete.ts');
    await deleteObjects(this.io, targetOf(flags), {
      words: ['pools.coppice.dev', ...names],
      files: [],
      kustomize: undefined,
      recursive: false,
      labelSelector: undefined,
      all: false,
      wait: flags.wait,
      timeout: flags.timeout,
      ignoreNotFound: false,
      dryRun: false,
      yes: flags.yes,
    });
  }
}

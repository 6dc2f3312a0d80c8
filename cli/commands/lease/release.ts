import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class LeaseRelease extends CoppiceCommand {
  static override strict = false;
  static override summary = 'End a lease: the VMs on its host are deleted, and the host waits for a scrub.';
  static override description =
    'Not before its minimum is over, unless an operator forces it; it is billed to the minimum all the same. The Lease stays as a record. Asks first on a terminal; elsewhere it needs -y.';
  static override usage = 'lease release NAME [--at INSTANT] [--force] [-y]';
  static override examples = [
    'coppice lease release ci -n acme -y',
    'coppice lease release ci -n acme --at 2026-12-24T18:00:00Z -y',
    'coppice lease release ci -n acme --force',
  ];
  static override flags = {
    ...targetFlags,
    at: Flags.string({
      description: 'when; else now, which is refused before its minimum is over',
      helpValue: 'INSTANT',
    }),
    force: Flags.boolean({ default: false, description: 'operators: now, whatever its minimum' }),
    yes: Flags.boolean({ default: false, char: 'y', description: 'do not ask' }),
    wait: Flags.boolean({ description: 'wait until it has ended, where that is now', default: true, allowNo: true }),
    timeout: Flags.string({ description: 'how long to wait', default: '60s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(LeaseRelease);
    const { releaseLease } = await import('../../actions/lease-release.ts');
    await releaseLease(this.io, targetOf(flags), {
      words: words(raw),
      at: flags.at,
      force: flags.force,
      yes: flags.yes,
      wait: flags.wait,
      timeout: flags.timeout,
    });
  }
}

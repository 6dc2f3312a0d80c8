import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Logs extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Print the console of a VM.';
  static override usage = 'logs NAME [-f] [--tail N]';
  static override flags = {
    ...targetFlags,
    follow: Flags.boolean({ default: false, char: 'f', description: 'go on as more is written' }),
    tail: Flags.integer({ description: 'only the last lines', min: 0, helpValue: 'N' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Logs);
    const { logs } = await import('../actions/logs.ts');
    await logs(this.io, targetOf(flags), { words: words(raw), follow: flags.follow, tail: flags.tail });
  }
}

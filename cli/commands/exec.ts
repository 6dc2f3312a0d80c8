import * as Flags from '@oclif/core/flags';
import { splitAtDashes } from '../argv.ts';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';
import { usage } from '../failure.ts';

export default class Exec extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Run a command in a VM.';
  static override description =
    'Exits with the exit code of the command; 124 when --timeout passed, 125 when the command could not be run, 126 and 127 as a shell, 255 when the stream broke.';
  static override usage = 'exec [-i] [-t] NAME -- COMMAND [ARGUMENT…]';
  static override examples = ['coppice exec -n demo hello -- uname -a', 'coppice exec -it -n demo hello -- sh'];
  static override flags = {
    ...targetFlags,
    stdin: Flags.boolean({ default: false, char: 'i', description: 'pass stdin on' }),
    tty: Flags.boolean({ default: false, char: 't', description: 'give the command a terminal' }),
    timeout: Flags.string({ description: 'end it after this time, such as 30s' }),
  };

  async run(): Promise<void> {
    const { ours, command } = splitAtDashes(this.argv);
    if (command === undefined) throw usage('write the command after --: coppice exec NAME -- uname -a', 'exec');
    const { flags, raw } = await this.parse(Exec, ours);
    const { execInVM } = await import('../actions/exec.ts');
    await execInVM(this.io, targetOf(flags), {
      words: words(raw),
      command,
      stdin: flags.stdin,
      tty: flags.tty,
      timeout: flags.timeout,
    });
  }
}

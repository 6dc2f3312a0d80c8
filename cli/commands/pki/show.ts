import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, words } from '../../coppice-command.ts';
import { usage } from '../../failure.ts';
import { keyFolderFlags } from '../../key-folder-flags.ts';

export default class PkiShow extends CoppiceCommand {
  static override strict = false;
  static override summary = 'List the keys of an installation, and nothing secret of them.';
  static override flags = {
    ...keyFolderFlags,
    output: Flags.string({
      char: 'o',
      description: 'form of the output; table on a terminal, json when piped',
      options: ['table', 'json', 'yaml'],
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(PkiShow);
    const [extra] = words(raw);
    if (extra !== undefined) throw usage(`pki show takes no argument, but got "${extra}"`, 'pki show');
    const { showKeys } = await import('../../serve/keys/show.ts');
    await showKeys(this.io, { home: flags.home, pki: flags.pki }, flags.output);
  }
}

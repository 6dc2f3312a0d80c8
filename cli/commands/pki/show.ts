import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, refuseWords } from '../../coppice-command.ts';
import { installationFlags } from '../../installation-flags.ts';

export default class PkiShow extends CoppiceCommand {
  static override strict = false;
  static override summary = 'List the keys of an installation, and nothing secret of them.';
  static override flags = {
    ...installationFlags,
    output: Flags.string({
      char: 'o',
      description: 'form of the output; table on a terminal, json when piped',
      options: ['table', 'json', 'yaml'],
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(PkiShow);
    refuseWords(raw, 'pki show');
    const { showKeys } = await import('../../serve/keys/show.ts');
    await showKeys(this.io, { home: flags.home, pki: flags.pki }, flags.output);
  }
}

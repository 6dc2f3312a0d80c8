import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, words } from '../../coppice-command.ts';
import { usage } from '../../failure.ts';

export default class ApiserverJoin extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Fetch the keys of a fleet for a new API server on this machine.';
  static override description =
    'The server is believed only if its certificate is of the authority whose hash the token has. Nothing is written unless all of it is.';
  static override usage = 'apiserver join TOKEN';
  static override examples = ['coppice apiserver join "$TOKEN" --server https://mac-1.example:7799'];
  static override flags = {
    server: Flags.string({
      description: 'a server of the fleet as it is reached from here; where the token says, else',
      helpValue: 'URL',
    }),
    home: Flags.string({
      description: 'folder of the new installation; $COPPICE_HOME, else ~/.coppice',
      helpValue: 'FOLDER',
    }),
    again: Flags.boolean({
      default: false,
      description: 'this home has keys of the fleet: bring them up to date',
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(ApiserverJoin);
    const [line, extra] = words(raw);
    if (extra !== undefined) throw usage(`apiserver join takes one token, but got "${extra}" too`, 'apiserver join');
    const { joinFleet } = await import('../../serve/joining/join.ts');
    await joinFleet(this.io, { line, server: flags.server, home: flags.home, again: flags.again });
  }
}

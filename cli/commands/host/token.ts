import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class HostToken extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Make a token that enrolls a host once, and the Host if it is not there.';
  static override description =
    'Prints the token, and nothing else; it is not told again. Whoever has it before the host does becomes the host.';
  static override usage = 'host token NAME [--group GROUP] [--label KEY=VALUE] [--expires DURATION] [--count N]';
  static override examples = [
    'coppice host token build-1 --group builders',
    'coppice host token mac --count 3 > tokens',
  ];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    group: Flags.string({ description: 'group of a Host that is made', helpValue: 'GROUP' }),
    label: Flags.string({
      description: 'label of a Host that is made; again for each of several',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'KEY=VALUE',
    }),
    expires: Flags.string({
      description: 'how long the token is good, from 1m to 24h; 1h by default',
      helpValue: 'DURATION',
    }),
    count: Flags.integer({
      description: 'as many hosts, NAME-1 to NAME-N, and a line with a token for each',
      min: 1,
      max: 5000,
      helpValue: 'N',
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(HostToken);
    const { makeHostTokens } = await import('../../actions/host-token.ts');
    const { group, label: labels = [], expires, count } = flags;
    await makeHostTokens(this.io, targetOf(flags), { words: words(raw), group, labels, expires, count });
  }
}

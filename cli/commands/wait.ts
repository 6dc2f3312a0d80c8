import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Wait extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Wait until objects are in a state.';
  static override usage = 'wait TYPE NAME… | TYPE/NAME… | TYPE -l SELECTOR | TYPE --all  --for STATE';
  static override examples = [
    'coppice wait vm/hello -n demo --for condition=Ready --timeout 2m',
    "coppice wait vm hello -n demo --for jsonpath='{.status.phase}'=Running",
    'coppice wait vm/hello -n demo --for delete',
  ];
  static override flags = {
    ...targetFlags,
    for: Flags.string({
      description: 'condition=TYPE[=STATUS], jsonpath={PATH}[=VALUE], create or delete',
      required: true,
      helpValue: 'STATE',
    }),
    selector: Flags.string({ char: 'l', description: 'those with these labels', helpValue: 'KEY=VALUE' }),
    all: Flags.boolean({ default: false, description: 'all of the type in the namespace' }),
    timeout: Flags.string({ description: 'how long at most; 0s looks once', default: '30s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Wait);
    const { waitFor } = await import('../actions/wait.ts');
    await waitFor(this.io, targetOf(flags), {
      words: words(raw),
      condition: flags.for,
      labelSelector: flags.selector,
      all: flags.all,
      timeout: flags.timeout,
    });
  }
}

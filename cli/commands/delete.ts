import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Delete extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Delete objects, and wait until they are gone.';
  static override description = 'Asks first on a terminal; elsewhere it needs -y.';
  static override usage = 'delete TYPE NAME… | TYPE/NAME… | TYPE -l SELECTOR | TYPE --all | -f FILE | -k FOLDER';
  static override examples = ['coppice delete vm hello -n demo', 'coppice delete -y -f fleet.yaml'];
  static override flags = {
    ...targetFlags,
    filename: Flags.string({
      char: 'f',
      description: 'what a file, folder or - names',
      multiple: true,
      multipleNonGreedy: true,
    }),
    kustomize: Flags.string({ char: 'k', description: 'what a kustomization names', helpValue: 'FOLDER' }),
    recursive: Flags.boolean({ default: false, char: 'R', description: 'also the folders inside a folder' }),
    selector: Flags.string({ char: 'l', description: 'those with these labels', helpValue: 'KEY=VALUE' }),
    all: Flags.boolean({ default: false, description: 'all of the type in the namespace' }),
    wait: Flags.boolean({ description: 'wait until they are gone', default: true, allowNo: true }),
    timeout: Flags.string({ description: 'how long to wait, such as 60s; 0s is for ever', default: '0s' }),
    'ignore-not-found': Flags.boolean({ default: false, description: 'one that does not exist is no error' }),
    'dry-run': Flags.string({
      description: 'let the server check everything and change nothing',
      options: ['none', 'server'],
      default: 'none',
    }),
    yes: Flags.boolean({ default: false, char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Delete);
    const { deleteObjects } = await import('../actions/delete.ts');
    await deleteObjects(this.io, targetOf(flags), {
      words: words(raw),
      files: flags.filename ?? [],
      kustomize: flags.kustomize,
      recursive: flags.recursive,
      labelSelector: flags.selector,
      all: flags.all,
      wait: flags.wait,
      timeout: flags.timeout,
      ignoreNotFound: flags['ignore-not-found'],
      dryRun: flags['dry-run'] === 'server',
      yes: flags.yes,
    });
  }
}

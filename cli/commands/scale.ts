import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Scale extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Set how many there are to be of something, such as the leases of a LeaseSet.';
  static override usage = 'scale TYPE NAME… | TYPE/NAME… | TYPE -l SELECTOR | TYPE --all | -f FILE --replicas N';
  static override examples = [
    'coppice scale leaseset/builders --replicas 4 -n acme',
    'coppice scale pool/warm --current-replicas 2 --replicas 3',
  ];
  static override flags = {
    ...targetFlags,
    replicas: Flags.integer({ description: 'how many there are to be', helpValue: 'N', min: 0, required: true }),
    'current-replicas': Flags.integer({ description: 'only where it is this many', helpValue: 'N', min: 0 }),
    filename: Flags.string({
      char: 'f',
      description: 'what a file, folder or - names',
      multiple: true,
      multipleNonGreedy: true,
    }),
    recursive: Flags.boolean({ default: false, char: 'R', description: 'also the folders inside a folder' }),
    selector: Flags.string({ char: 'l', description: 'those with these labels', helpValue: 'KEY=VALUE' }),
    all: Flags.boolean({ default: false, description: 'all of the type in the namespace' }),
    'dry-run': Flags.string({
      description: 'let the server check everything and change nothing',
      options: ['none', 'server'],
      default: 'none',
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Scale);
    const { scale } = await import('../actions/scale.ts');
    await scale(this.io, targetOf(flags), {
      words: words(raw),
      replicas: flags.replicas,
      currentReplicas: flags['current-replicas'],
      files: flags.filename ?? [],
      recursive: flags.recursive,
      labelSelector: flags.selector,
      all: flags.all,
      dryRun: flags['dry-run'] === 'server',
    });
  }
}

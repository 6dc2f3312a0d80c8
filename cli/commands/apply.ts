import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, outputFlag, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Apply extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Make objects as files say: create them, or change what differs.';
  static override usage = 'apply -f FILE|FOLDER|- | -k FOLDER';
  static override examples = ['coppice apply -k manifests/quickstart', 'coppice apply -f fleet.yaml --dry-run server'];
  static override flags = {
    ...targetFlags,
    output: outputFlag.output,
    filename: Flags.string({
      char: 'f',
      description: 'file, folder of files, or - for stdin; may be given several times',
      multiple: true,
      multipleNonGreedy: true,
    }),
    kustomize: Flags.string({ char: 'k', description: 'folder with a kustomization', helpValue: 'FOLDER' }),
    recursive: Flags.boolean({ default: false, char: 'R', description: 'also the folders inside a folder' }),
    'dry-run': Flags.string({
      description: 'let the server check everything and change nothing',
      options: ['none', 'server'],
      default: 'none',
    }),
    'server-side': Flags.boolean({
      default: false,
      description: 'let the server merge, and keep record of who set which field',
    }),
    'force-conflicts': Flags.boolean({
      default: false,
      description: 'with --server-side, take fields that others own',
      dependsOn: ['server-side'],
    }),
    prune: Flags.boolean({
      description: 'delete what is of the set and is not applied any more',
      dependsOn: ['applyset'],
    }),
    applyset: Flags.string({
      description: 'the object that remembers what was applied, such as configmaps/fleet',
      helpValue: '[RESOURCE/]NAME',
      dependsOn: ['prune'],
    }),
    'field-manager': Flags.string({ description: 'the name that owns what is applied', default: 'coppice' }),
    validate: Flags.string({
      description: 'what to do about unknown fields',
      options: ['strict', 'warn', 'ignore', 'true', 'false'],
      default: 'strict',
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Apply);
    const { apply } = await import('../actions/apply.ts');
    await apply(this.io, targetOf(flags), {
      words: words(raw),
      files: flags.filename ?? [],
      kustomize: flags.kustomize,
      recursive: flags.recursive,
      dryRun: flags['dry-run'] === 'server',
      validate: flags.validate,
      serverSide: flags['server-side'],
      force: flags['force-conflicts'],
      fieldManager: flags['field-manager'],
      applySet: flags.applyset,
      output: flags.output,
    });
  }
}

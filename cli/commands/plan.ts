import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Plan extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Tell what applying files would change, and what that costs.';
  static override description =
    'The server is asked what would come of each object, and nothing is changed. What is to be paid is reckoned from the price list: the minimum of new leases is owed at once, VMs and pools cost nothing on Macs that their tenant leases. Ends with 0 when nothing changes, with 2 when something does, with 1 when something would be turned down.';
  static override usage = 'plan -f FILE|FOLDER|- | -k FOLDER [-o json]';
  static override examples = ['coppice plan -k manifests/gitops-example', 'coppice plan -f lease.yaml -n acme -o json'];
  static override flags = {
    ...targetFlags,
    output: Flags.string({ char: 'o', description: 'json: the same for programs', options: ['json'] }),
    filename: Flags.string({
      char: 'f',
      description: 'file, folder of files, or - for stdin; may be given several times',
      multiple: true,
      multipleNonGreedy: true,
    }),
    kustomize: Flags.string({ char: 'k', description: 'folder with a kustomization', helpValue: 'FOLDER' }),
    recursive: Flags.boolean({ default: false, char: 'R', description: 'also the folders inside a folder' }),
    'server-side': Flags.boolean({ default: false, description: 'plan an apply --server-side' }),
    'force-conflicts': Flags.boolean({
      default: false,
      description: 'with --server-side, take fields that others own',
      dependsOn: ['server-side'],
    }),
    prune: Flags.boolean({
      description: 'tell also what is of the set and would be deleted',
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
    const { flags, raw } = await this.parse(Plan);
    const { plan } = await import('../actions/plan.ts');
    await plan(this.io, targetOf(flags), {
      words: words(raw),
      files: flags.filename ?? [],
      kustomize: flags.kustomize,
      recursive: flags.recursive,
      validate: flags.validate,
      serverSide: flags['server-side'],
      force: flags['force-conflicts'],
      fieldManager: flags['field-manager'],
      applySet: flags.applyset,
      json: flags.output === 'json',
    });
  }
}

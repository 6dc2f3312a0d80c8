import * as Flags from '@oclif/core/flags';

/** Flags of every command that is given what to apply; `applyOptions` reads them. */
export const applyFlags = {
  filename: Flags.string({
    char: 'f',
    description: 'file, folder of files, or - for stdin; may be given several times',
    multiple: true,
    multipleNonGreedy: true,
  }),
  kustomize: Flags.string({ char: 'k', description: 'folder with a kustomization', helpValue: 'FOLDER' }),
  recursive: Flags.boolean({ default: false, char: 'R', description: 'also the folders inside a folder' }),
  'force-conflicts': Flags.boolean({
    default: false,
    description: 'with --server-side, take fields that others own',
    dependsOn: ['server-side'],
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

interface ApplyFlags {
  readonly filename: string[] | undefined;
  readonly kustomize: string | undefined;
  readonly recursive: boolean;
  readonly 'server-side': boolean;
  readonly 'force-conflicts': boolean;
  readonly applyset: string | undefined;
  readonly 'field-manager': string;
  readonly validate: string;
}

/** What is to be applied, and how. */
export function applyOptions(flags: ApplyFlags) {
  return {
    files: flags.filename ?? [],
    kustomize: flags.kustomize,
    recursive: flags.recursive,
    validate: flags.validate,
    serverSide: flags['server-side'],
    force: flags['force-conflicts'],
    fieldManager: flags['field-manager'],
    applySet: flags.applyset,
  };
}

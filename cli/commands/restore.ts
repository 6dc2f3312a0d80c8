import { join, resolve } from 'node:path';
import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, words } from '../coppice-command.ts';
import { usage } from '../failure.ts';
import { coppiceHome } from '../io.ts';
import { pkiFlag } from '../pki-flag.ts';
import { storeFlags } from '../store-flags.ts';

export default class Restore extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Make a new store of a backup.';
  static override description =
    'Only into a home, or a prefix of etcd, that has no store yet. Hosts take it for another store: they stop and remove nothing until you say so.';
  static override usage = 'restore FILE';
  static override examples = ['coppice restore fleet.backup --home /srv/coppice'];
  static override flags = {
    home: Flags.string({ description: 'folder of the installation', helpValue: 'FOLDER' }),
    pki: pkiFlag,
    'no-pki': Flags.boolean({ default: false, description: 'leave out the keys that are in the backup' }),
    'dry-run': Flags.boolean({ default: false, description: 'only check the backup, and that there is room for it' }),
    ...storeFlags,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Restore);
    const [file, extra] = words(raw);
    if (file === undefined || extra !== undefined) throw usage('name one file', 'restore');
    const { runRestore } = await import('../serve/backup/run-restore.ts');
    const { storeOptions } = await import('../serve/store-options.ts');
    const { cwd, env } = this.io;
    const home = resolve(cwd, coppiceHome(this.io, flags.home));
    await runRestore(this.io, {
      file,
      home,
      store: storeOptions(flags, env, cwd),
      pki: flags.pki === undefined ? join(home, 'pki') : resolve(cwd, flags.pki),
      withPki: !flags['no-pki'],
      dryRun: flags['dry-run'],
    });
  }
}

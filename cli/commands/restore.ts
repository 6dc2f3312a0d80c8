import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, words } from '../coppice-command.ts';
import { usage } from '../failure.ts';
import { installationFlags } from '../installation-flags.ts';
import { storeFlags } from '../store-flags.ts';

export default class Restore extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Make a new store of a backup.';
  static override description =
    'Only into a home, or a prefix of etcd, that has no store yet. Hosts take it for another store: they stop and remove nothing until you say so.';
  static override usage = 'restore FILE';
  static override examples = ['coppice restore fleet.backup --home /srv/coppice'];
  static override flags = {
    ...installationFlags,
    'no-pki': Flags.boolean({ default: false, description: 'leave out the keys that are in the backup' }),
    'dry-run': Flags.boolean({ default: false, description: 'only check the backup, and that there is room for it' }),
    ...storeFlags,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Restore);
    const [file, extra] = words(raw);
    if (file === undefined || extra !== undefined) throw usage('name one file', 'restore');
    const { runRestore } = await import('../serve/backup/run-restore.ts');
    const { placeOf } = await import('../serve/backup/place.ts');
    await runRestore(this.io, {
      file,
      ...placeOf(this.io, flags),
      withPki: !flags['no-pki'],
      dryRun: flags['dry-run'],
    });
  }
}

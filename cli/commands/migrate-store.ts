import { resolve } from 'node:path';
import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, words } from '../coppice-command.ts';
import { Failure, usage } from '../failure.ts';
import { coppiceHome } from '../io.ts';
import { storeFlags, targetStoreFlags } from '../store-flags.ts';

export default class MigrateStore extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Move a store from a home to etcd, or back, while nothing runs on it.';
  static override description =
    'The store stays the same one, and its revisions go on. The old place is closed: what runs there is told where the store went. Run it again if it was cut short.';
  static override usage = 'migrate-store --to-etcd HOST:PORT | --etcd HOST:PORT --to-sqlite';
  static override examples = [
    'coppice migrate-store --to-etcd 10.0.0.7:2379',
    'coppice migrate-store --etcd 10.0.0.7:2379 --to-sqlite --home /srv/coppice',
    'coppice migrate-store --take-back --to-etcd 10.0.0.7:2379',
  ];
  static override flags = {
    home: Flags.string({ description: 'folder of the installation', helpValue: 'FOLDER' }),
    ...storeFlags,
    ...targetStoreFlags,
    'to-sqlite': Flags.boolean({ default: false, description: 'move to state.db in the home' }),
    'take-back': Flags.boolean({
      default: false,
      description: 'serve from the old place again, as it was then; closes the one named with --to-…',
    }),
    force: Flags.boolean({ default: false, description: 'with --take-back: the place it went to is gone for good' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(MigrateStore);
    if (words(raw).length > 0) throw usage('migrate-store takes no argument', 'migrate-store');
    const { storeOptions, targetStoreOptions } = await import('../serve/store-options.ts');
    const { cwd, env } = this.io;
    const home = resolve(cwd, coppiceHome(this.io, flags.home));
    const to = targetStoreOptions(flags, env, cwd);
    // Of a move to etcd $COPPICE_ETCD is more likely the target than where the store is.
    const from = storeOptions(flags, to?.kind === 'etcd' ? { ...env, COPPICE_ETCD: undefined } : env, cwd);
    const { runMigrate, runTakeBack } = await import('../serve/backup/run-migrate.ts');
    if (flags['take-back']) {
      if (to === undefined && !flags.force)
        throw new Failure('two places must never serve the same store', {
          hint: 'name where it went with --to-etcd or --to-sqlite, to close it, or say --force if that is gone for good',
        });
      return runTakeBack(this.io, { home, from, to });
    }
    if (to === undefined) throw usage('say where to: --to-etcd or --to-sqlite', 'migrate-store');
    if (from.kind === 'sqlite' && to.kind === 'sqlite')
      throw new Failure('the store of a home is in sqlite already', { hint: 'name where it is with --etcd HOST:PORT' });
    await runMigrate(this.io, { home, from, to });
  }
}

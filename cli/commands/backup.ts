import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, words } from '../coppice-command.ts';
import { usage } from '../failure.ts';
import { installationFlags } from '../installation-flags.ts';
import { storeFlags } from '../store-flags.ts';

export default class Backup extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Write everything a fleet knows to one file, while it goes on.';
  static override description =
    'Reads the store of a home, through the server that runs on it if one does, or etcd with --etcd. Guests and images are not in it.';
  static override usage = 'backup FILE';
  static override examples = ['coppice backup fleet.backup', 'coppice backup --verify fleet.backup'];
  static override flags = {
    ...installationFlags,
    kubeconfig: targetFlags.kubeconfig,
    'no-pki': Flags.boolean({ default: false, description: 'leave the keys out; without them Secrets cannot be read' }),
    force: Flags.boolean({ default: false, description: 'replace the file if it is there' }),
    verify: Flags.boolean({ default: false, description: 'only check that FILE is a whole backup' }),
    ...storeFlags,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Backup);
    const [file, extra] = words(raw);
    if (file === undefined || extra !== undefined) throw usage('name one file', 'backup');
    const { runBackup, verifyBackup } = await import('../serve/backup/run-backup.ts');
    if (flags.verify) return verifyBackup(this.io, file);
    const { placeOf } = await import('../serve/backup/place.ts');
    await runBackup(this.io, {
      file,
      ...placeOf(this.io, flags),
      withPki: !flags['no-pki'],
      kubeconfig: flags.kubeconfig,
      force: flags.force,
      product: this.config.version,
    });
  }
}

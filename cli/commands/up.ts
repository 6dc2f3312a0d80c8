import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, refuseWords } from '../coppice-command.ts';
import { installationFlags, portFlag } from '../installation-flags.ts';
import { coppiceHome } from '../io.ts';
import { storeFlags } from '../store-flags.ts';
import { upOptions } from '../up/options.ts';

export default class Up extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Run the whole control plane and a host on this machine, in one process.';
  static override description = 'Serves until Ctrl-C. Guests keep running and are found again at the next start.';
  static override flags = {
    ...installationFlags,
    port: portFlag,
    driver: Flags.string({
      description: 'what runs the guests; auto takes qemu where it is installed, else sim',
      options: ['auto', 'qemu', 'sim'],
      default: 'auto',
    }),
    hosts: Flags.integer({ description: 'simulated hosts, with --driver sim', min: 1, max: 5000, helpValue: 'N' }),
    'no-quickstart': Flags.boolean({
      default: false,
      description: 'do not apply manifests/quickstart to a new installation',
    }),
    faults: Flags.string({
      description: 'file that says what simulated hosts do wrong, with --driver sim',
      helpValue: 'FILE',
    }),
    ...storeFlags,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Up);
    refuseWords(raw, 'up');
    const faults =
      flags.faults === undefined
        ? undefined
        : (await import('../serve/read-faults-file.ts')).readFaultsFile(flags.faults, this.io.cwd);
    const options = upOptions(
      {
        ...flags,
        home: coppiceHome(this.io, flags.home),
        pki: flags.pki,
        port: flags.port,
        driver: flags.driver,
        hosts: flags.hosts,
        noQuickstart: flags['no-quickstart'],
        faults,
      },
      this.io.env,
      this.io.cwd,
    );
    const { runUp } = await import('../up/up.ts');
    await runUp(options, this.io, this.io.signal);
  }
}

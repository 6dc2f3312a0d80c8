import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, refuseWords, targetFlags } from '../coppice-command.ts';
import { coppiceHome } from '../io.ts';

export default class Controllers extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Run the duties of the control plane apart from its API servers.';
  static override description =
    'Several such processes stand by for each other: each duty is led by one of them. Serves until Ctrl-C, and then hands its duties on at once.';
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    server: Flags.string({
      description: 'address of an API server, instead of the kubeconfig’s; again for each of several',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'URL',
    }),
    only: Flags.string({
      description: 'these duties only, with commas between them; all when absent',
      helpValue: 'DUTIES',
    }),
    home: Flags.string({
      description:
        'folder of the server’s installation, whose controllers.kubeconfig is used; $COPPICE_HOME, else ~/.coppice',
      helpValue: 'FOLDER',
    }),
    'health-port': Flags.integer({
      description: 'port on loopback for /healthz, /livez, /readyz and /status; 0 takes any free one',
      min: 0,
      max: 65535,
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Controllers);
    refuseWords(raw, 'controllers');
    const [{ controllersOptions }, { runControllers }] = await Promise.all([
      import('../serve/controllers/options.ts'),
      import('../serve/controllers/run-controllers.ts'),
    ]);
    const options = controllersOptions({
      kubeconfig: flags.kubeconfig,
      context: flags.context,
      server: flags.server,
      only: flags.only,
      home: coppiceHome(this.io, flags.home),
      homeFrom: flags.home !== undefined ? 'flag' : this.io.env.COPPICE_HOME ? 'environment' : 'default',
      healthPort: flags['health-port'],
    });
    await runControllers(options, this.io, this.io.signal);
  }
}

import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, refuseWords } from '../coppice-command.ts';
import { coppiceHome } from '../io.ts';

export default class Nodelet extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Run this machine as a host of a control plane elsewhere.';
  static override description =
    'The first start needs a token of "coppice host token" and the address of a server; both are of no use later, as the home keeps what it needs. ' +
    'Connects outwards only. Serves until Ctrl-C; guests keep running and are found again at the next start.';
  static override examples = [
    'coppice nodelet --server https://a.example:7799,https://b.example:7799 --token-file token',
    'coppice nodelet',
  ];
  static override flags = {
    home: Flags.string({
      description: 'folder of this host, no server’s; $COPPICE_HOME, else ~/.coppice',
      helpValue: 'FOLDER',
    }),
    server: Flags.string({
      description: 'address of an API server; several with commas, or again; kept in the home',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'URL',
    }),
    token: Flags.string({
      description: 'token that enrolls a host; again for each of several simulated ones',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'TOKEN',
    }),
    'token-file': Flags.string({ description: 'file with tokens, one a line', helpValue: 'FILE' }),
    driver: Flags.string({
      description: 'what runs the guests; auto takes qemu where it is installed, else sim; kept in the home',
      options: ['auto', 'qemu', 'sim'],
    }),
    faults: Flags.string({
      description: 'file that says what simulated hosts do wrong, with --driver sim',
      helpValue: 'FILE',
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Nodelet);
    refuseWords(raw, 'nodelet');
    const [{ nodeletOptions }, { runNodeletProcess }] = await Promise.all([
      import('../serve/nodelet/options.ts'),
      import('../serve/nodelet/run-nodelet-process.ts'),
    ]);
    const { server, token, driver } = flags;
    const faults =
      flags.faults === undefined
        ? undefined
        : (await import('../serve/read-faults-file.ts')).readFaultsFile(flags.faults, this.io.cwd);
    const given = { home: coppiceHome(this.io, flags.home), server, token, driver, faults };
    await runNodeletProcess(
      nodeletOptions({ ...given, 'token-file': flags['token-file'] }, this.io.cwd),
      this.io,
      this.io.signal,
    );
  }
}

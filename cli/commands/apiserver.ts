import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, refuseWords } from '../coppice-command.ts';
import { installationFlags, portFlag } from '../installation-flags.ts';
import { coppiceHome } from '../io.ts';
import { serverOptions } from '../serve/server-options.ts';
import { storeFlags } from '../store-flags.ts';

export default class Apiserver extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Serve the API only, without controllers or a host.';
  static override description =
    'Several servers share a store in etcd and a folder of keys. Serves until Ctrl-C, or SIGTERM.';
  static override flags = {
    home: Flags.string({
      description: 'folder of this server, no other’s; $COPPICE_HOME, else ~/.coppice',
      helpValue: 'FOLDER',
    }),
    pki: installationFlags.pki,
    name: Flags.string({
      description: 'what it is called among the servers of its store; kept in the home',
      helpValue: 'NAME',
    }),
    listen: Flags.string({ description: 'address to listen on; 127.0.0.1 by default', helpValue: 'ADDRESS' }),
    port: portFlag,
    advertise: Flags.string({
      description: 'where clients and the other servers reach this one; by default where it listens',
      helpValue: 'https://HOST:PORT',
    }),
    'tls-san': Flags.string({
      description: 'names and addresses it is reached by besides, with commas, such as a load balancer’s',
      helpValue: 'NAME',
    }),
    ...storeFlags,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Apiserver);
    refuseWords(raw, 'apiserver');
    const { home, pki, name, listen, port, advertise } = flags;
    const options = serverOptions(
      { ...flags, home: coppiceHome(this.io, home), pki, name, listen, port, advertise, 'tls-san': flags['tls-san'] },
      this.io.env,
      this.io.cwd,
    );
    const { runApiserver } = await import('../serve/run-apiserver.ts');
    await runApiserver(options, this.io, this.io.signal);
  }
}

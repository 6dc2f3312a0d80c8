import { controllerIdentity } from '../../apiserver/auth/identity.ts';
import type { DutyName } from '../../controllers/duties.ts';
import { Controllers } from '../../controllers/run.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { CliFolder } from './run-cli.ts';
import { listenTestServer, OPERATOR_TOKEN, startTestServer, type TestServer } from './server.ts';

interface CliServerOptions {
  /** Of the context; none by default. */
  readonly namespace?: string;
  /** The duties that are at work; none by default. */
  readonly duties?: readonly DutyName[];
}

/** A real server on a port, and a folder in which the CLI is its operator. */
export class CliServer implements AsyncDisposable {
  readonly server: TestServer;
  readonly folder: CliFolder;
  /** What a kubeconfig for it says, with another's token. */
  readonly kubeconfig: (token: string) => string;
  readonly #held: AsyncDisposableStack;

  private constructor(
    server: TestServer,
    folder: CliFolder,
    kubeconfig: CliServer['kubeconfig'],
    held: AsyncDisposableStack,
  ) {
    this.server = server;
    this.folder = folder;
    this.kubeconfig = kubeconfig;
    this.#held = held;
  }

  static async start({ namespace, duties = [] }: CliServerOptions = {}): Promise<CliServer> {
    const held = new AsyncDisposableStack();
    const folder = held.use(await CliFolder.make());
    const server = held.use(await startTestServer());
    const listening = held.use(await listenTestServer(server, `${folder.path}/pki`));
    const authority = Buffer.from(listening.caCert).toString('base64');
    const cluster = { server: listening.url, 'certificate-authority-data': authority };
    const context = { cluster: 'c', user: 'u', ...(namespace === undefined ? {} : { namespace }) };
    const kubeconfig = (token: string) =>
      JSON.stringify({
        'current-context': 'x',
        clusters: [{ name: 'c', cluster }],
        users: [{ name: 'u', user: { token } }],
        contexts: [{ name: 'x', context }],
      });
    await folder.write('kubeconfig', kubeconfig(OPERATOR_TOKEN));
    if (duties.length > 0) held.use(controllersOf(server, duties));
    return new CliServer(server, folder, kubeconfig, held);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }
}

function controllersOf({ server }: TestServer, only: readonly DutyName[]): Controllers {
  return new Controllers({
    transportFor: (identity) => server.transportFor(controllerIdentity(identity.slice('system:controller:'.length))),
    clock: systemClock,
    ids: systemIds,
    random: Math.random,
    log: silentLogger,
    only,
  });
}

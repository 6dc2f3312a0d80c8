import assert from 'node:assert/strict';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { ApiClient, type ResourceClient } from '../../apiserver/client/client.ts';
import { HttpsTransport } from '../../apiserver/client/https-transport.ts';
import { unless } from '../../apiserver/client/unless.ts';
import { packageRoot } from '../../cli/package-root.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { UpProcess } from '../cli/up/up-process.ts';
import { adminConnection } from '../harness/admin-connection.ts';
import { CliFolder, type CliRun } from '../harness/run-cli.ts';
import { runScript } from './run-script.ts';

const SCRIPT_MS = 60_000;
const HOSTS = 5;

interface Ran {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** An empty server with simulated Macs, and a copy of the example repository beside it, with kubectl and coppice to work on it. */
export class GitopsWorld implements AsyncDisposable {
  readonly #cli: CliFolder;
  readonly #up: UpProcess;
  readonly #transport: HttpsTransport;
  readonly client: ApiClient;

  private constructor(cli: CliFolder, up: UpProcess, transport: HttpsTransport) {
    this.#cli = cli;
    this.#up = up;
    this.#transport = transport;
    this.client = new ApiClient(transport.send);
  }

  static async open(kubectl: string): Promise<GitopsWorld> {
    const cli = await CliFolder.make();
    const folder = cli.path;
    const home = join(folder, 'home');
    const up = new UpProcess(home, ['--driver', 'sim', '--hosts', String(HOSTS), '--port', '0', '--no-quickstart']);
    try {
      await mkdir(join(folder, 'bin'));
      await symlink(kubectl, join(folder, 'bin/kubectl'));
      await cp(join(packageRoot(), 'manifests/gitops-example'), join(folder, 'fleet'), { recursive: true });
      await up.says(/up in/, 60_000);
      const { url, token, ca } = await adminConnection(home);
      return new GitopsWorld(
        cli,
        up,
        new HttpsTransport({ server: url, ca, authorization: async () => `Bearer ${token}` }),
      );
    } catch (error) {
      await up[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Runs a script in the folder that has the repository as `fleet`. */
  async run(script: string): Promise<Ran> {
    const env = {
      ...process.env,
      PATH: `${join(this.#cli.path, 'bin')}:${process.env.PATH ?? ''}`,
      HOME: this.#cli.path,
      KUBECONFIG: join(this.#cli.path, 'home/kubeconfig'),
      KUBECTL_APPLYSET: 'true',
      LC_ALL: 'C',
      TZ: 'UTC',
    };
    return runScript(script, { cwd: this.#cli.path, env, signal: AbortSignal.timeout(SCRIPT_MS) });
  }

  /** Runs a command of coppice, in this process. */
  async coppice(command: string): Promise<CliRun> {
    const kubeconfig = join(this.#cli.path, 'home/kubeconfig');
    const env = { PATH: `${join(this.#cli.path, 'bin')}:${process.env.PATH ?? ''}` };
    return this.#cli.run([...command.split(' '), '--kubeconfig', kubeconfig], { env });
  }

  /** What coppice tells to be other than unchanged, of a command that must end with 0. */
  async changes(command: string): Promise<string> {
    const { code, stdout, stderr } = await this.coppice(command);
    assert.equal(code, 0, `${command}\n${stdout}${stderr}`);
    return stdout.replace(/^.* unchanged\n/gm, '');
  }

  /** What a script prints that must end with 0. */
  async out(script: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(script);
    assert.equal(code, 0, `${script}\n${stdout}${stderr}`);
    return stdout;
  }

  /** Changes a file of the repository. */
  async edit(file: string, change: (text: string) => string): Promise<void> {
    const path = join(this.#cli.path, 'fleet', file);
    const text = await readFile(path, 'utf8');
    const changed = change(text);
    assert.notEqual(changed, text, `${file} is as it was`);
    await writeFile(path, changed);
  }

  /** Takes lines out of a file of the repository. */
  async without(file: string, ...lines: readonly string[]): Promise<void> {
    await this.edit(file, (text) => lines.reduce((rest, line) => rest.replace(`  - ${line}\n`, ''), text));
  }

  /** Puts the repository back to how it was. */
  async revert(file: string): Promise<void> {
    await cp(join(packageRoot(), 'manifests/gitops-example', file), join(this.#cli.path, 'fleet', file));
  }

  /** What kustomize makes of the repository. */
  async objects(): Promise<readonly KubeObject[]> {
    return loadAll(await this.out('kubectl kustomize fleet')) as KubeObject[];
  }

  readonly at = (object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): ResourceClient<KubeObject> =>
    this.client.resource<KubeObject>(refOf(object), object.metadata.namespace);

  /** Objects of the repository as they stand; `objects` are what kustomize makes of it. */
  async standing(objects?: readonly KubeObject[]): Promise<readonly KubeObject[]> {
    return Promise.all((objects ?? (await this.objects())).map((object) => this.at(object).get(object.metadata.name)));
  }

  /** Whether a tenant is gone, and its namespace. */
  async hasLost(tenant: string): Promise<boolean> {
    const metadata = { name: tenant } as KubeObject['metadata'];
    const places = [
      { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata },
      { apiVersion: 'v1', kind: 'Namespace', metadata },
    ];
    const there = await Promise.all(places.map((place) => this.at(place).get(tenant).catch(unless('NotFound'))));
    return there.every((object) => object === undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport[Symbol.asyncDispose]();
    await this.#up.end('SIGINT');
    await this.#cli[Symbol.asyncDispose]();
  }
}

function refOf({ apiVersion, kind, metadata }: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>) {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  const lower = kind.toLowerCase();
  const plural = lower.endsWith('y') ? `${lower.slice(0, -1)}ies` : `${lower}s`;
  return { group, version, plural, kind, namespaced: metadata.namespace !== undefined };
}

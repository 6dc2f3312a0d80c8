import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump, load } from 'js-yaml';
import { ClientWorld } from '../clients/client-world.ts';
import { runScript } from './run-script.ts';
import { normalise, sortCauses } from './transcript.ts';

const FILES = join(import.meta.dirname, 'files');
/** Far more than any script needs on a machine that has little else to do. */
const SCRIPT_MS = 60_000;

/** `seen PATTERN FILE` waits until a file has a line that matches; a script that waits in vain runs into its deadline. */
const PRELUDE = 'seen() { until grep -qE "$1" "$2" 2>/dev/null; do sleep 0.05; done; }\n';

/** The server of `coppice up` with its controllers, and kubectl beside it. Widgets and gadgets are defined. */
export class KubectlWorld implements AsyncDisposable {
  readonly #clients: ClientWorld;
  readonly #folder: string;
  readonly #stop = new AbortController();

  private constructor(clients: ClientWorld, folder: string) {
    this.#clients = clients;
    this.#folder = folder;
  }

  /** `namespaces` are made. Throws when kubectl cannot make them. */
  static async open(kubectl: string, namespaces: readonly string[]): Promise<KubectlWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'coppice-kubectl-'));
    const world = new KubectlWorld(await ClientWorld.open(), folder);
    try {
      await mkdir(join(folder, 'bin'));
      await symlink(kubectl, join(folder, 'bin/kubectl'));
      const made = namespaces.map((name) => dump({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
      await writeFile(join(folder, 'namespaces.yaml'), made.join('---\n'));
      const session = await world.session('default');
      await session.out('kubectl create -f $FILES/crds.yaml -f ../namespaces.yaml');
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Somebody at a shell in a folder of their own, whose kubeconfig has the operator's credentials and this namespace. */
  async session(namespace: string): Promise<KubectlSession> {
    const cwd = join(this.#folder, namespace);
    await mkdir(cwd);
    const kubeconfig = join(cwd, 'kubeconfig');
    await copyFile(this.#clients.kubeconfig, kubeconfig);
    const config = load(await readFile(kubeconfig, 'utf8')) as { contexts: { context: { namespace?: string } }[] };
    for (const { context } of config.contexts) context.namespace = namespace;
    await writeFile(kubeconfig, dump(config), { mode: 0o600 });
    const env = {
      ...process.env,
      PATH: `${join(this.#folder, 'bin')}:${process.env.PATH ?? ''}`,
      // One cache of discovery for all, as a user has.
      HOME: this.#folder,
      KUBECONFIG: kubeconfig,
      KUBE_EDITOR: 'true',
      FILES,
      NS: namespace,
      URL: `https://127.0.0.1:${this.#clients.port}`,
      LC_ALL: 'C',
      TZ: 'UTC',
    };
    return new KubectlSession({ cwd, env, stop: this.#stop.signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#clients[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export class KubectlSession {
  readonly #cwd: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #stop: AbortSignal;

  constructor(options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly stop: AbortSignal }) {
    this.#cwd = options.cwd;
    this.#env = options.env;
    this.#stop = options.stop;
  }

  /** Puts a file into the folder where scripts run. */
  async file(name: string, text: string): Promise<void> {
    await writeFile(join(this.#cwd, name), text);
  }

  /** What a script that must succeed prints, as it is. */
  async out(script: string): Promise<string> {
    const { code, stdout, stderr } = await this.#run(script);
    assert.equal(code, 0, `${script}\n${stdout}${stderr}`);
    return stdout;
  }

  /** The script must succeed and print these lines, as `normalise` writes them; those on stderr follow with `! ` before each. */
  async prints(script: string, ...lines: readonly string[]): Promise<void> {
    await this.exits(0, script, ...lines);
  }

  /** As `prints`, with another exit code. */
  async exits(wanted: number, script: string, ...lines: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await this.#run(script);
    const printed = sortCauses([
      ...normalise(stdout.replace(COLOURS, '')).map(leadingAge),
      ...normalise(stderr).map((line) => `! ${line}`),
    ]);
    assert.deepEqual({ script, code, printed }, { script, code: wanted, printed: lines });
  }

  /** The script must end with 1 and say this on stderr. */
  async fails(script: string, says: RegExp): Promise<void> {
    const { code, stdout, stderr } = await this.#run(script);
    assert.deepEqual({ script, code, stdout, stderr }, { script, code: 1, stdout, stderr });
    assert.match(stderr, says, `${script}\n${stderr}`);
  }

  async #run(script: string): ReturnType<typeof runScript> {
    const signal = AbortSignal.any([this.#stop, AbortSignal.timeout(SCRIPT_MS)]);
    return runScript(PRELUDE + script, { cwd: this.#cwd, env: this.#env, signal });
  }
}

/** Older versions colour a few lines even where no terminal reads them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what these codes begin with
const COLOURS = /\x1b\[[0-9;]*m/g;

/** Tables of events begin with an age. */
function leadingAge(line: string): string {
  return line.replace(/^\d+[smhd](?= {2})/, '<age>');
}

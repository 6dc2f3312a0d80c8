import { join } from 'node:path';
import { type Home, openHome } from '../../../cli/serve/home.ts';
import { ALONE } from '../../../cli/serve/server-options.ts';
import { type StartedServer, startServer } from '../../../cli/serve/start-server.ts';
import type { StoreOptions } from '../../../cli/serve/store-options.ts';
import { lineLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { CliFolder, type CliRun } from '../../harness/run-cli.ts';

/** A real server with a home of its own. */
export interface KeysServer extends StartedServer, AsyncDisposable {
  readonly home: Home;
  /** What it logged so far. */
  readonly logged: readonly string[];
}

/** Real servers in this process, on loopback and in homes of their own, and the CLI beside them. */
export class KeysWorld implements AsyncDisposable {
  readonly #folder: CliFolder;
  readonly #held = new AsyncDisposableStack();

  private constructor(folder: CliFolder) {
    this.#folder = folder;
  }

  static async make(): Promise<KeysWorld> {
    return new KeysWorld(await CliFolder.make());
  }

  path(...names: string[]): string {
    return join(this.#folder.path, ...names);
  }

  /** `pki` is a folder of keys that is not the home's own. */
  async serve(
    name: string,
    { pki, store = { kind: 'sqlite' } }: { readonly pki?: string; readonly store?: StoreOptions } = {},
  ): Promise<KeysServer> {
    const home = openHome(this.path(name));
    const logged: string[] = [];
    const log = lineLogger((line) => void logged.push(line), Date.now);
    const held = new AsyncDisposableStack();
    const deps = {
      ...ALONE,
      home,
      pki,
      name,
      store,
      port: 0,
      clock: systemClock,
      ids: systemIds,
      random: Math.random,
      log,
    };
    try {
      const started = await startServer(deps, held);
      this.#held.use(held);
      return { ...started, home, logged, [Symbol.asyncDispose]: () => held.disposeAsync() };
    } catch (error) {
      await held.disposeAsync();
      throw error;
    }
  }

  /** `coppice` with the words of a line, on the home of a server. */
  run(name: string, line: string): Promise<CliRun> {
    return this.#folder.run([...line.split(' '), '--home', this.path(name)]);
  }

  /** The same with no home given. */
  runBare(...argv: string[]): Promise<CliRun> {
    return this.#folder.run(argv);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held.disposeAsync();
    await this.#folder[Symbol.asyncDispose]();
  }
}

import { join } from 'node:path';
import { type Connection, HttpsTransport } from '../../apiserver/client/https-transport.ts';
import type { ApiResponse, Transport } from '../../apiserver/client/transport.ts';
import { UnreachableError } from '../../apiserver/client/unreachable-error.ts';
import { connectionOf } from '../../cli/kubeconfig/connection.ts';
import { readKubeconfigFile } from '../../cli/kubeconfig/kubeconfig.ts';
import { freePort } from '../harness/etcd-server.ts';
import { ProcessPlace } from './process-place.ts';

/** The place of a process that serves the API, always on the same home and port. */
export class ServerProcess implements AsyncDisposable {
  readonly place: ProcessPlace;
  readonly home: string;
  readonly url: string;
  #transport: HttpsTransport | undefined;
  #connection: Connection | undefined;

  private constructor(place: ProcessPlace, home: string, port: number) {
    this.place = place;
    this.home = home;
    this.url = `https://127.0.0.1:${port}`;
  }

  /** Resolves when it serves. Disposing it kills it. */
  static async start(command: 'up' | 'apiserver', home: string, args: readonly string[]): Promise<ServerProcess> {
    const port = await freePort();
    const place = new ProcessPlace({ command, home, args: [...args, '--port', `${port}`], ready: /up in [0-9.]+ s/ });
    const server = new ServerProcess(place, home, port);
    try {
      await place.start();
      server.#connection = await operatorOf(home);
      server.#transport = new HttpsTransport(server.#connection);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** As the operator. */
  get connection(): Connection {
    if (this.#connection === undefined) throw new Error(`${this.home} has not begun to serve`);
    return this.#connection;
  }

  readonly send: Transport = (request): Promise<ApiResponse> => {
    if (!this.place.serving || this.#transport === undefined)
      throw new UnreachableError('refused', this.url, `nothing listens at ${this.url}`, { sent: false });
    return this.#transport.send(request);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.place.kill();
    await this.#transport?.[Symbol.asyncDispose]();
  }
}

async function operatorOf(home: string): Promise<Connection> {
  const file = join(home, 'kubeconfig');
  const config = await readKubeconfigFile(file);
  if (config === undefined) throw new Error(`there is no ${file}`);
  return (await connectionOf({ ...config, files: [file] }, undefined)).connection;
}

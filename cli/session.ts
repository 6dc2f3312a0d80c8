import { ApiClient } from '../apiserver/client/client.ts';
import type { Connection } from '../apiserver/client/https-transport.ts';
import type { Target } from './coppice-command.ts';
import type { Io } from './io.ts';
import { connectionOf } from './kubeconfig/connection.ts';
import { loadKubeconfig } from './kubeconfig/kubeconfig.ts';

/** One command's talk with one server. Disposing it closes the connections. */
export interface Session extends AsyncDisposable {
  readonly io: Io;
  readonly client: ApiClient;
  readonly connection: Connection;
  /** `-n`, else the namespace of the context. */
  readonly namespace: string;
  /** Whether the namespace was written on the command line. */
  readonly namespaceGiven: boolean;
}

export async function openSession(io: Io, target: Target): Promise<Session> {
  const config = await loadKubeconfig(io, target.kubeconfig);
  const { connection, namespace } = await connectionOf(config, target.context);
  // TLS takes longer to load than all the rest; by now it is known to be needed.
  const { HttpsTransport } = await import('../apiserver/client/https-transport.ts');
  const transport = new HttpsTransport(connection);
  return {
    io,
    connection,
    client: new ApiClient(transport.send),
    namespace: target.namespace ?? namespace,
    namespaceGiven: target.namespace !== undefined,
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

import { readFile } from 'node:fs/promises';
import type { Connection } from '../../apiserver/client/https-transport.ts';
import type { JsonObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';
import type { Kubeconfig } from './kubeconfig.ts';

/** A context made usable. */
interface ContextConnection {
  readonly connection: Connection;
  /** The namespace of the context; `default` when it names none. */
  readonly namespace: string;
}

/** The connection of a context (the current one when `name` is undefined). */
export async function connectionOf(config: Kubeconfig, name: string | undefined): Promise<ContextConnection> {
  const shown = config.files.join(', ');
  const contextName = name ?? config.currentContext;
  if (contextName === undefined)
    throw new Failure(`${shown} has no current-context`, { hint: `name one with --context: ${list(config.contexts)}` });
  const context = config.contexts.get(contextName);
  if (context === undefined)
    throw new Failure(`${shown} has no context "${contextName}"`, { hint: `it has ${list(config.contexts)}` });
  const cluster = config.clusters.get(text(context, 'cluster') ?? '');
  if (cluster === undefined) throw new Failure(`context "${contextName}" of ${shown} names no cluster that is there`);
  const user = config.users.get(text(context, 'user') ?? '') ?? {};
  return {
    connection: await connect(config, contextName, cluster, user),
    namespace: text(context, 'namespace') ?? 'default',
  };
}

async function connect(
  config: Kubeconfig,
  context: string,
  cluster: JsonObject,
  user: JsonObject,
): Promise<Connection> {
  const server = text(cluster, 'server');
  if (server === undefined) throw new Failure(`the cluster of context "${context}" has no server`);
  if (!server.startsWith('https://'))
    throw new Failure(`the server ${server} of context "${context}" is not https://`, {
      hint: 'credentials are sent over TLS only',
    });
  if (cluster['proxy-url'] !== undefined)
    throw new Failure(`context "${context}" goes through a proxy-url, which coppice does not do`);
  const plain: Connection = {
    server,
    ...field('ca', await material(cluster, 'certificate-authority')),
    ...field('serverName', text(cluster, 'tls-server-name')),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecure: true } : {}),
  };
  if (user.exec !== undefined || user['auth-provider'] !== undefined) {
    const { pluginConnection } = await import('./plugin-connection.ts');
    return { ...plain, ...(await pluginConnection(config, context)) };
  }
  return {
    ...plain,
    ...field('cert', await material(user, 'client-certificate')),
    ...field('key', await material(user, 'client-key')),
    ...field('authorization', authorization(user)),
  };
}

/** Asked before each request: a token file is read again, so a renewed token is used. */
function authorization(user: JsonObject): (() => Promise<string>) | undefined {
  const token = text(user, 'token');
  const tokenFile = text(user, 'tokenFile');
  const username = text(user, 'username');
  if (tokenFile !== undefined) return async () => `Bearer ${(await pem(tokenFile)).trim()}`;
  if (token !== undefined) return async () => `Bearer ${token}`;
  if (username === undefined) return undefined;
  const basic = Buffer.from(`${username}:${text(user, 'password') ?? ''}`).toString('base64');
  return async () => `Basic ${basic}`;
}

/** PEM text given inline as base64 (`NAME-data`, which wins) or as a file (`NAME`). */
async function material(from: JsonObject, name: string): Promise<string | undefined> {
  const inline = text(from, `${name}-data`);
  if (inline !== undefined) return Buffer.from(inline, 'base64').toString('utf8');
  const file = text(from, name);
  return file === undefined ? undefined : await pem(file);
}

async function pem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Failure(`${file}, which the kubeconfig names, cannot be read`, { cause });
  }
}

function text(from: JsonObject, name: string): string | undefined {
  const value = from[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function field<K extends string, V>(name: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { [P in K]?: V };
}

function list(names: ReadonlyMap<string, unknown>): string {
  return names.size === 0 ? 'none' : [...names.keys()].sort().join(', ');
}

import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Target } from '../coppice-command.ts';
import { type Io, printLine } from '../io.ts';
import { mintToken } from '../minted-token.ts';
import { renderYaml } from '../render/yaml.ts';
import { openSession } from '../session.ts';
import { tenantName } from '../tenant-ref.ts';
import { TENANTS } from '../vm-ref.ts';

/** Makes the token of a tenant and prints it, and nothing else. The one before is no good from then on. */
export async function makeTenantToken(io: Io, target: Target, words: readonly string[]): Promise<void> {
  const name = tenantName(words, 'tenant token');
  await using session = await openSession(io, target);
  printLine(io, await mint(session.client, name, io.signal));
}

/** The same in a kubeconfig by which the owner of the tenant reaches this server. */
export async function makeTenantKubeconfig(io: Io, target: Target, words: readonly string[]): Promise<void> {
  const name = tenantName(words, 'tenant kubeconfig');
  await using session = await openSession(io, target);
  const { server, ca, serverName, insecure } = session.connection;
  const cluster = {
    server,
    ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
    ...(insecure === true ? { 'insecure-skip-tls-verify': true } : {}),
  };
  const token = await mint(session.client, name, io.signal);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name: 'coppice', cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: 'coppice', user: name, namespace: name } }],
  };
  io.stdout.write(renderYaml(config));
}

function mint(client: ApiClient, name: string, signal: AbortSignal): Promise<string> {
  return mintToken(client, { resource: TENANTS, name, kind: 'TenantToken', spec: {} }, signal);
}

import type { ApiClient } from '../../apiserver/client/client.ts';
import { isObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { type Io, printLine } from '../io.ts';
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

async function mint(client: ApiClient, name: string, signal: AbortSignal): Promise<string> {
  const wish = { apiVersion: 'coppice.dev/v1', kind: 'TenantToken', metadata: { name }, spec: {} };
  const answer = await client.json({
    method: 'POST',
    path: client.resource(TENANTS).path(name, 'token'),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: new TextEncoder().encode(JSON.stringify(wish)),
    signal,
  });
  const status = isObject(answer) ? answer.status : undefined;
  if (!isObject(status) || typeof status.token !== 'string') throw new Error('the server answered no token');
  return status.token;
}

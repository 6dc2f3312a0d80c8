import type { ApiClient } from '../apiserver/client/client.ts';
import { isObject } from '../resources/meta/object.ts';
import type { HOSTS, TENANTS } from './vm-ref.ts';

interface TokenWish {
  readonly resource: typeof HOSTS | typeof TENANTS;
  readonly name: string;
  /** Of the question, such as HostToken. */
  readonly kind: string;
  readonly spec: object;
}

/** Has the server make a token of an object, which it tells once. */
export async function mintToken(client: ApiClient, wish: TokenWish, signal: AbortSignal): Promise<string> {
  const { resource, name, kind, spec } = wish;
  const question = { apiVersion: 'coppice.dev/v1', kind, metadata: { name }, spec };
  const answer = await client.json({
    method: 'POST',
    path: client.resource(resource).path(name, 'token'),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: new TextEncoder().encode(JSON.stringify(question)),
    signal,
  });
  const status = isObject(answer) ? answer.status : undefined;
  if (!isObject(status) || typeof status.token !== 'string') throw new Error('the server answered no token');
  return status.token;
}

import type { ApiClient } from '../../apiserver/client/client.ts';
import { Host } from '../../resources/kinds/host.ts';
import type { ActionSubresource } from '../../resources/meta/define-kind.ts';
import { isObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';

/** Asks a question about a host. Answers the status of the answer. */
export async function askHost(
  client: ApiClient,
  host: string,
  { name, request }: ActionSubresource,
  spec: object,
  signal: AbortSignal,
): Promise<unknown> {
  const question = { apiVersion: apiVersionOf(request), kind: request.kind, metadata: { name: host }, spec };
  const answer = await client.json({
    method: 'POST',
    path: client.resource(Host).path(host, name),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: new TextEncoder().encode(JSON.stringify(question)),
    signal,
  });
  return isObject(answer) ? answer.status : undefined;
}

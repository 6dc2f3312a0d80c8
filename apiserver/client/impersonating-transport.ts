import type { Transport } from './transport.ts';

/** A transport whose requests are made as somebody else, whom the credential may stand in for. Groups that every user is in need not be named. */
export function impersonating(transport: Transport, user: string, group: string): Transport {
  return (request) =>
    transport({
      ...request,
      headers: { 'user-agent': user, ...request.headers, 'impersonate-user': user, 'impersonate-group': group },
    });
}

import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { ApiError } from '../resources/meta/api-error.ts';
import type { Authenticator } from './auth/authenticate.ts';
import type { Identity } from './auth/identity.ts';
import { failure } from './requests/respond.ts';
import type { ServerRequest, ServerResponse } from './requests/server-request.ts';

/** One request as the audit file tells it: never a body, a token or a query. */
export interface AuditEntry {
  readonly id: string;
  readonly atMs: number;
  readonly user: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** Takes entries; must not throw and must not wait. */
export type AuditSink = (entry: AuditEntry) => void;

export interface AdmitDeps {
  readonly authenticate: Authenticator;
  readonly audit: AuditSink;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/**
 * The one door of every path tree: who asks, an id for the request, failures as a Status, and the audit entry. `anonymous` paths are
 * answered without a credential.
 */
export async function admitRequest(
  deps: AdmitDeps,
  request: ServerRequest,
  anonymous: boolean,
  handle: (identity: Identity) => Promise<ServerResponse>,
): Promise<ServerResponse> {
  const id = deps.ids.uid();
  let user = 'system:anonymous';
  const response = await answer(deps, request, async () => {
    const identity = anonymous ? ANONYMOUS : deps.authenticate(request.credential);
    user = identity.user;
    refuseImpersonation(identity, request);
    return handle(identity);
  });
  deps.audit({ id, atMs: deps.clock.now(), user, method: request.method, path: request.path, status: response.status });
  return { ...response, headers: { 'audit-id': id, ...response.headers } };
}

/** Acting as somebody else is nobody's right; to ignore the wish would do more than was asked. */
function refuseImpersonation(identity: Identity, { headers }: ServerRequest): void {
  const header = Object.keys(headers).find((name) => name.startsWith('impersonate-'));
  if (header === undefined) return;
  const what = header === 'impersonate-group' ? 'groups' : header === 'impersonate-uid' ? 'uids' : 'users';
  const as = `${what} "${headers[header]}"`;
  throw new ApiError('Forbidden', `${as} is forbidden: User "${identity.user}" cannot impersonate resource "${what}"`);
}

const ANONYMOUS: Identity = { user: 'system:anonymous', groups: ['system:unauthenticated'] };

async function answer(
  deps: AdmitDeps,
  request: ServerRequest,
  handle: () => Promise<ServerResponse>,
): Promise<ServerResponse> {
  try {
    return await handle();
  } catch (error) {
    if (error instanceof ApiError) return failure(error);
    if (request.signal.aborted)
      return failure(new ApiError('Timeout', 'the request was given up before it was answered'));
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    deps.log.error('request failed', { method: request.method, path: request.path, error: message });
    const shown = error instanceof Error ? error.message : String(error);
    return failure(new ApiError('InternalError', `Internal error occurred: ${shown}`));
  }
}

import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { ApiError } from '../resources/meta/api-error.ts';
import type { Authenticator } from './auth/authenticate.ts';
import { ANONYMOUS, type Identity } from './auth/identity.ts';
import { impersonated, wishesImpersonation } from './auth/impersonate.ts';
import { failure } from './requests/respond.ts';
import type { ServerRequest, ServerResponse } from './requests/server-request.ts';

/** One request as the audit file tells it: never a body, a token or a query. */
export interface AuditEntry {
  readonly id: string;
  readonly atMs: number;
  readonly user: string;
  /** As whom the user asked, where that was somebody else. */
  readonly impersonated?: string;
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
  let asker = ANONYMOUS;
  let as: Identity | undefined;
  const response = await answer(deps, request, async () => {
    if (!anonymous || wishesImpersonation(request)) asker = await deps.authenticate(request.credential, request.signal);
    as = impersonated(asker, request);
    return handle(as ?? asker);
  });
  const { method, path } = request;
  const who = { user: asker.user, ...(as === undefined ? {} : { impersonated: as.user }) };
  deps.audit({ id, atMs: deps.clock.now(), ...who, method, path, status: response.status });
  return { ...response, headers: { 'audit-id': id, ...response.headers } };
}

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

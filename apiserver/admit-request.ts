import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { ApiError } from '../resources/meta/api-error.ts';
import type { Authenticator } from './auth/authenticate.ts';
import { ANONYMOUS, type Identity } from './auth/identity.ts';
import { impersonated, wishesImpersonation } from './auth/impersonate.ts';
import { andThen, type Eventual } from './eventual.ts';
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
export function admitRequest(
  deps: AdmitDeps,
  request: ServerRequest,
  anonymous: boolean,
  handle: (identity: Identity) => Eventual<ServerResponse>,
): Eventual<ServerResponse> {
  const id = deps.ids.uid();
  let asker = ANONYMOUS;
  let as: Identity | undefined;
  const response = answer(deps, request, () => {
    const known =
      anonymous && !wishesImpersonation(request) ? ANONYMOUS : deps.authenticate(request.credential, request);
    return andThen(known, (identity) => {
      asker = identity;
      as = impersonated(asker, request);
      return handle(as ?? asker);
    });
  });
  return andThen(response, (answered) => {
    const { method, path } = request;
    const who = { user: asker.user, ...(as === undefined ? {} : { impersonated: as.user }) };
    deps.audit({ id, atMs: deps.clock.now(), ...who, method, path, status: answered.status });
    return { ...answered, headers: { 'audit-id': id, ...answered.headers } };
  });
}

function answer(
  deps: AdmitDeps,
  request: ServerRequest,
  handle: () => Eventual<ServerResponse>,
): Eventual<ServerResponse> {
  try {
    const answered = handle();
    return answered instanceof Promise ? answered.catch((error) => failed(deps, request, error)) : answered;
  } catch (error) {
    return failed(deps, request, error);
  }
}

function failed(deps: AdmitDeps, request: ServerRequest, error: unknown): ServerResponse {
  if (error instanceof ApiError) return failure(error);
  if (request.signal.aborted)
    return failure(new ApiError('Timeout', 'the request was given up before it was answered'));
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  deps.log.error('request failed', { method: request.method, path: request.path, error: message });
  const shown = error instanceof Error ? error.message : String(error);
  return failure(new ApiError('InternalError', `Internal error occurred: ${shown}`));
}

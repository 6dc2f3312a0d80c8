import { DEFINITIONS } from '../resources/guards/refs.ts';
import { ApiError, notAllowed } from '../resources/meta/api-error.ts';
import type { Verb } from '../resources/meta/define-kind.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import { type AdmitDeps, admitRequest } from './admit-request.ts';
import { DOCUMENTS } from './auth/authorization-table.ts';
import { type Ask, authorize } from './auth/authorize.ts';
import { authorizeHost } from './auth/authorize-host.ts';
import type { Identity } from './auth/identity.ts';
import type { ServerVersion } from './discovery/version.ts';
import { isStream, streamOf, verbOf } from './dispatch.ts';
import { Documents, noSuchResource, nothingHere } from './documents.ts';
import { unlessAborted } from './registry/key-queue.ts';
import type { ServedKind } from './registry/registry.ts';
import { negotiate } from './requests/media-type.ts';
import { failure, warningHeaders } from './requests/respond.ts';
import { parseRoute, type ResourceTarget, type Route } from './requests/route.ts';
import type { App, ServerRequest, ServerResponse } from './requests/server-request.ts';
import { checkRepresentation } from './verbs/represent.ts';
import { selectionOf } from './verbs/selection.ts';
import type { ServerParts, VerbContext, VerbHandler } from './verbs/verb-context.ts';

export interface AppDeps extends AdmitDeps {
  readonly parts: ServerParts;
  readonly version: ServerVersion;
  /** Why the server is not ready, or undefined when it is. */
  readonly ready: () => string | undefined;
  /** Answers streams that are plain HTTP, such as logs; by `group/plural/subresource`. */
  readonly streams?: Readonly<Record<string, VerbHandler>>;
}

/** How long a mutation and a read may take, in milliseconds (a watch has its own end). */
const MUTATION_MS = 34_000;
const READ_MS = 60_000;

/** The whole server but its sockets: a request in, a response out. */
export function createApp(deps: AppDeps): App {
  const documents = new Documents(deps.parts.registry, deps.version, deps.ready);
  return (request) => {
    const parsed = route(request);
    const anonymous = !(parsed instanceof ApiError) && parsed.type === 'document' && isAnonymous(parsed.segments);
    return admitRequest(deps, request, anonymous, async (identity) => {
      if (parsed instanceof ApiError) throw parsed;
      if (parsed.type === 'unknown') return nothingHere();
      if (parsed.type === 'document') return document(documents, request, parsed.segments);
      return resource(deps, request, identity, parsed.target);
    });
  };
}

function route(request: ServerRequest): Route | ApiError {
  try {
    return parseRoute(request.path);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function isAnonymous(segments: readonly string[]): boolean {
  return DOCUMENTS[segments[0] ?? ''] === 'anonymous';
}

function document(documents: Documents, request: ServerRequest, segments: readonly string[]): ServerResponse {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw notAllowed();
  const answer = documents.answer(request, segments);
  if (answer !== undefined) return answer;
  if (segments[0] === 'apis' || segments[0] === 'api') throw noSuchResource();
  return nothingHere();
}

async function resource(
  deps: AppDeps,
  request: ServerRequest,
  identity: Identity,
  target: ResourceTarget,
): Promise<ServerResponse> {
  const served = await findServed(deps, request, target);
  if (served === undefined || (target.namespace !== undefined && !served.kind.namespaced)) throw noSuchResource();
  if (target.name !== undefined && target.namespace === undefined && served.kind.namespaced) throw noSuchResource();
  const stream = isStream(served, target);
  const { verb, handler } = stream ? streamOf(deps.streams, request, served, target) : verbOf(request, served, target);
  const ask = askOf(request, served, target, verb);
  authorize(identity, ask);
  authorizeHost(identity, deps.parts.cache.world);
  return withDeprecation(served, () => answer(deps, request, { identity, served, target, ask, verb, handler, stream }));
}

interface Authorized {
  readonly identity: Identity;
  readonly served: ServedKind;
  readonly target: ResourceTarget;
  readonly ask: Ask;
  readonly verb: Verb;
  readonly handler: VerbHandler;
  readonly stream: boolean;
}

async function answer(
  deps: AppDeps,
  request: ServerRequest,
  { identity, served, target, ask, verb, handler, stream }: Authorized,
): Promise<ServerResponse> {
  const representation = stream ? 'Object' : negotiate(request.headers.accept);
  checkRepresentation(verb, representation, request.query);
  const context: VerbContext = { parts: deps.parts, request, identity, served, target, ask, representation };
  if (stream || verb === 'watch') return handler(context);
  return withDeadline(deps, context, isRead(request) ? READ_MS : MUTATION_MS, handler);
}

/** Whoever uses a deprecated version is told so, with whatever answer. */
async function withDeprecation(
  { kind: { deprecation } }: ServedKind,
  answer: () => Promise<ServerResponse>,
): Promise<ServerResponse> {
  if (deprecation === undefined) return answer();
  const response = await answer().catch((error: unknown) => {
    if (error instanceof ApiError) return failure(error);
    throw error;
  });
  const { warning = [] } = response.headers ?? {};
  const others = typeof warning === 'string' ? [warning] : warning;
  const told = [...(warningHeaders([deprecation]).warning ?? []), ...others];
  return { ...response, headers: { ...response.headers, warning: told } };
}

/** A kind that is not known may just have been defined on another server: it is looked for again once every acknowledged write is seen. */
async function findServed(
  { parts }: AppDeps,
  request: ServerRequest,
  { group, version, plural }: ResourceTarget,
): Promise<ServedKind | undefined> {
  const served = parts.registry.find(group, version, plural);
  if (served !== undefined) return served;
  await parts.cache.caughtUp(request.signal);
  return parts.registry.find(group, version, plural);
}

const isRead = ({ method }: ServerRequest) => method === 'GET' || method === 'HEAD';

/** What is asked, for the authorization table. */
export function askOf(
  request: Pick<ServerRequest, 'query'>,
  { kind }: ServedKind,
  target: ResourceTarget,
  verb: Verb,
): Ask {
  const many = verb === 'list' || verb === 'watch' || verb === 'deletecollection';
  return {
    kind,
    verb,
    subresource: target.subresource,
    namespace: target.namespace,
    name: target.name,
    fields: many ? selectionOf(kind, request.query).fields : new Map(),
  };
}

async function withDeadline(
  deps: AppDeps,
  context: VerbContext,
  ms: number,
  handler: VerbHandler,
): Promise<ServerResponse> {
  const timeout = new AbortController();
  const stop = deps.clock.after(ms, () => timeout.abort(overdue(ms)));
  const signal = AbortSignal.any([context.request.signal, timeout.signal]);
  try {
    const body = (maxBytes: number) => unlessAborted(context.request.body(maxBytes), signal);
    const response = await handler({ ...context, request: { ...context.request, body, signal } });
    // A kind is served, or served otherwise, by the time its definition is answered.
    if (resourceId(context.served.kind) === resourceId(DEFINITIONS) && !isRead(context.request))
      await deps.parts.cache.caughtUp(signal);
    return response;
  } finally {
    stop();
  }
}

function overdue(ms: number): ApiError {
  const message = `the request was not finished within ${ms / 1000} s`;
  return new ApiError('Timeout', message, { details: { retryAfterSeconds: 1 } });
}

import { DEFINITIONS } from '../resources/guards/refs.ts';
import { ApiError, notAllowed } from '../resources/meta/api-error.ts';
import type { Kind, Verb } from '../resources/meta/define-kind.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import { type AdmitDeps, admitRequest } from './admit-request.ts';
import { DOCUMENTS } from './auth/authorization-table.ts';
import { type Ask, authorize, mayGetDocument } from './auth/authorize.ts';
import { authorizeHost } from './auth/authorize-host.ts';
import { type Identity, roleOf } from './auth/identity.ts';
import type { TokenIssuer } from './discovery/token-issuer.ts';
import type { ServerVersion } from './discovery/version.ts';
import { isStream, streamOf, verbOf } from './dispatch.ts';
import { Documents, noSuchResource, nothingHere } from './documents.ts';
import { unlessAborted } from './registry/key-queue.ts';
import type { ServedKind } from './registry/registry.ts';
import { MOST_REQUESTS, RequestLimit } from './request-limit.ts';
import { warningOf } from './requests/deprecation.ts';
import { asYaml, compressed } from './requests/finish-response.ts';
import { type Negotiated, negotiate } from './requests/media-type.ts';
import { parseRoute, type ResourceTarget, type Route } from './requests/route.ts';
import type { App, Crowd, ServerRequest, ServerResponse } from './requests/server-request.ts';
import type { Answerers } from './verbs/answer.ts';
import { checkRepresentation } from './verbs/represent.ts';
import { selectionOf } from './verbs/selection.ts';
import type { ServerParts, VerbContext, VerbHandler } from './verbs/verb-context.ts';

export interface AppDeps extends AdmitDeps {
  readonly parts: ServerParts;
  readonly version: ServerVersion;
  /** Why the server is not ready, or undefined when it is. */
  readonly ready: () => string | undefined;
  /** What is to be said of a store that has not much room. */
  readonly shortage: () => string | undefined;
  /** Answers streams that are plain HTTP, such as logs; by `group/plural/subresource`. */
  readonly streams?: Readonly<Record<string, VerbHandler>>;
  /** Answers kinds and subresources that are questions. */
  readonly answerers: Answerers;
  readonly issuer: TokenIssuer;
}

/** Documents that are answered to GET only, in what the caller accepts. */
const NEGOTIATED: ReadonlySet<string> = new Set(['version', 'api', 'apis']);
const HEALTH: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz']);

/** How long a mutation and a read may take, in milliseconds (a watch has its own end). */
const MUTATION_MS = 34_000;
const READ_MS = 60_000;

/** The whole server but its sockets: a request in, a response out. */
export function createApp(deps: AppDeps): App {
  const documents = new Documents(deps.parts.registry, deps.version, deps.ready, deps.shortage, deps.issuer);
  const limits = { operators: new RequestLimit(MOST_REQUESTS), others: new RequestLimit(MOST_REQUESTS) };
  return async (request) => {
    const parsed = route(request);
    const anonymous = !(parsed instanceof ApiError) && parsed.type === 'document' && isAnonymous(parsed.segments);
    const response = await admitRequest(deps, request, anonymous, async (identity) => {
      if (parsed instanceof ApiError) throw parsed;
      if (parsed.type === 'unknown') return nothingHere();
      if (parsed.type === 'document') return document(documents, request, identity, parsed.segments);
      return resource(deps, limits, request, identity, parsed.target);
    });
    return compressed(request, wantsYaml(request) ? await asYaml(response) : response);
  };
}

function wantsYaml({ headers }: ServerRequest): boolean {
  if (headers.accept?.includes('yaml') !== true) return false;
  try {
    return negotiate(headers.accept).yaml;
  } catch (error) {
    // That it cannot be served was answered already.
    if (error instanceof ApiError) return false;
    throw error;
  }
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

function document(
  documents: Documents,
  request: ServerRequest,
  identity: Identity,
  segments: readonly string[],
): ServerResponse {
  if (!mayGetDocument(identity, segments)) {
    const what = `User "${identity.user}" cannot ${request.method.toLowerCase()} path "${request.path}"`;
    throw new ApiError('Forbidden', `forbidden: ${what}`, { details: {} });
  }
  const [root = ''] = segments;
  const negotiated = NEGOTIATED.has(root);
  if (request.method !== 'GET' && (negotiated || request.method !== 'HEAD')) throw notAllowed();
  if (negotiated) documents.checkAccept(request);
  if (HEALTH.has(root) && request.path.endsWith('/')) return nothingHere();
  const answer = documents.answer(request, segments);
  if (answer === undefined && root === 'api') throw noSuchResource();
  return answer ?? nothingHere();
}

async function resource(
  deps: AppDeps,
  limits: Readonly<Record<Crowd, RequestLimit>>,
  request: ServerRequest,
  identity: Identity,
  target: ResourceTarget,
): Promise<ServerResponse> {
  const served = await findServed(deps, request, target);
  if (served === undefined) return unserved(deps, target);
  const { namespaced, origin } = served.kind;
  const misplaced = target.namespace === undefined ? namespaced && target.name !== undefined : !namespaced;
  if (misplaced && origin === 'core') throw noSuchResource();
  if (misplaced) return nothingHere();
  const stream = isStream(served, target);
  const { verb, handler } = stream
    ? streamOf(deps.streams, request, served, target)
    : verbOf(request, served, target, deps.answerers);
  // A namespaced kind is read over all namespaces, and written in one.
  if (namespaced && target.namespace === undefined && verb !== 'list' && verb !== 'watch') {
    if (origin === 'core') throw notAllowed();
    return nothingHere();
  }
  const ask = askOf(request, served, target, verb);
  authorize(identity, ask);
  authorizeHost(identity, deps.parts.cache.world);
  const { representation } =
    stream || !served.kind.stored ? PLAIN : negotiate(request.headers.accept, verb === 'watch');
  checkRepresentation(verb, representation, request.query);
  const crowd = crowdOf(identity);
  const body = (maxBytes: number) => request.body(maxBytes, crowd);
  const parts = deps.parts;
  const context: VerbContext = { parts, request: { ...request, body }, identity, served, target, ask, representation };
  return warningOf(served.kind.deprecation, () => {
    if (stream || verb === 'watch') return handler(context);
    const answer = () => withDeadline(deps, context, isRead(request) ? READ_MS : MUTATION_MS, handler);
    return isOwn(identity) ? answer() : limits[crowd].run(answer);
  });
}

const PLAIN: Pick<Negotiated, 'representation'> = { representation: 'Object' };

/** A path into a group of Kubernetes' own ends in a Status, one into a group of others in plain text. */
function unserved({ parts }: AppDeps, { group, version }: ResourceTarget): ServerResponse {
  const isCore = (kind: Kind) => kind.origin === 'core' && kind.group === group && kind.version === version;
  if (group === '' || parts.registry.kinds().some(isCore)) throw noSuchResource();
  return nothingHere();
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

/** The fleet goes on however many clients there are. */
const crowdOf = (identity: Identity): Crowd =>
  isOwn(identity) || roleOf(identity) === 'operator' ? 'operators' : 'others';

const isOwn = (identity: Identity) => roleOf(identity) === 'host' || roleOf(identity)?.startsWith('controller:');

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
  const ended = new AbortController();
  const { signal } = ended;
  const stop = deps.clock.after(ms, () => ended.abort(overdue(ms)));
  // Of AbortSignal.any the garbage collector has a fifth of what a small request takes.
  const gone = () => ended.abort(context.request.signal.reason);
  context.request.signal.addEventListener('abort', gone);
  if (context.request.signal.aborted) gone();
  try {
    const body = (maxBytes: number) => unlessAborted(context.request.body(maxBytes), signal);
    const response = await handler({ ...context, request: { ...context.request, body, signal } });
    // A kind is served, or served otherwise, by the time its definition is answered.
    if (resourceId(context.served.kind) === resourceId(DEFINITIONS) && !isRead(context.request))
      await deps.parts.cache.caughtUp(signal);
    return response;
  } finally {
    stop();
    context.request.signal.removeEventListener('abort', gone);
  }
}

function overdue(ms: number): ApiError {
  const message = `the request was not finished within ${ms / 1000} s`;
  return new ApiError('Timeout', message, { details: { retryAfterSeconds: 1 } });
}

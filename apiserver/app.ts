import { DEFINITIONS } from '../resources/guards/refs.ts';
import { ApiError, notAllowed } from '../resources/meta/api-error.ts';
import type { Kind, Verb } from '../resources/meta/define-kind.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import { type AdmitDeps, admitRequest } from './admit-request.ts';
import { DOCUMENTS } from './auth/authorization-table.ts';
import { type Ask, authorize, mayGetDocument } from './auth/authorize.ts';
import { authorizeHost } from './auth/authorize-host.ts';
import { type Identity, roleOf } from './auth/identity.ts';
import { ownRequest } from './auth/own-request.ts';
import { shownTo } from './auth/shown-to.ts';
import { lookedAfter, WhileKnown } from './auth/while-known.ts';
import { servedBackup } from './backup/serve-backup.ts';
import type { TokenIssuer } from './discovery/token-issuer.ts';
import type { ServerVersion } from './discovery/version.ts';
import { isStream, streamOf, verbOf } from './dispatch.ts';
import { Documents, noSuchResource, nothingHere } from './documents.ts';
import { andThen, type Eventual, whenOver } from './eventual.ts';
import { termOf } from './registry/fencing-term.ts';
import type { ServedKind } from './registry/registry.ts';
import { MOST_REQUESTS, RequestLimit } from './request-limit.ts';
import { warningOf } from './requests/deprecation.ts';
import { asYaml, compressed } from './requests/finish-response.ts';
import { type Negotiated, negotiate } from './requests/media-type.ts';
import { parseRoute, type ResourceTarget, type Route } from './requests/route.ts';
import type { App, Crowd, ServerRequest, ServerResponse } from './requests/server-request.ts';
import { TimedRequest } from './requests/timed-request.ts';
import { withSignal } from './requests/with-signal.ts';
import type { Answerers } from './verbs/answer.ts';
import { checkRepresentation } from './verbs/represent.ts';
import { selectionOf } from './verbs/selection.ts';
import type { ServerParts, VerbContext, VerbHandler } from './verbs/verb-context.ts';

interface AppDeps extends AdmitDeps {
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
  return (request) => {
    const parsed = route(request);
    const anonymous = !(parsed instanceof ApiError) && parsed.type === 'document' && isAnonymous(parsed.segments);
    const response = admitRequest(deps, request, anonymous, (identity) => {
      if (parsed instanceof ApiError) throw parsed;
      if (parsed.type === 'unknown') return nothingHere();
      if (parsed.type === 'document') return document(deps, documents, request, identity, parsed.segments);
      return resource(deps, limits, request, identity, parsed.target);
    });
    return andThen(response, (answered) => {
      const written = wantsYaml(request) ? asYaml(answered) : answered;
      return andThen(written, (whole) => compressed(request, whole));
    });
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
  deps: AppDeps,
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
  if (root === 'backup' && segments.length === 1 && request.method === 'GET') return backup(deps, request);
  if (request.method !== 'GET' && (negotiated || request.method !== 'HEAD')) throw notAllowed();
  if (negotiated) documents.checkAccept(request);
  if (HEALTH.has(root) && request.path.endsWith('/')) return nothingHere();
  const answer = documents.answer(request, segments);
  if (answer === undefined && root === 'api') throw noSuchResource();
  return answer ?? nothingHere();
}

/** The whole store as it is now, for `coppice backup`. What it keeps of Secrets is sealed. */
function backup({ parts, clock, version }: AppDeps, { signal }: ServerRequest): ServerResponse {
  const source = { store: parts.store, clock, product: version.gitVersion, files: [] };
  const headers = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' };
  return { status: 200, headers, body: servedBackup(source, signal), live: true };
}

function resource(
  deps: AppDeps,
  limits: Readonly<Record<Crowd, RequestLimit>>,
  request: ServerRequest,
  identity: Identity,
  target: ResourceTarget,
): Eventual<ServerResponse> {
  return andThen(findServed(deps, request, target), (served) =>
    served === undefined ? unserved(deps, target) : servedBy(served, deps, limits, request, identity, target),
  );
}

function servedBy(
  served: ServedKind,
  deps: AppDeps,
  limits: Readonly<Record<Crowd, RequestLimit>>,
  request: ServerRequest,
  identity: Identity,
  target: ResourceTarget,
): Eventual<ServerResponse> {
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
  const own = ownRequest(identity, served.kind, verb, request, target);
  const ask = askOf(own.request, served, own.target, verb);
  authorize(identity, ask);
  authorizeHost(identity, deps.parts.cache.world);
  const { representation } =
    stream || !served.kind.stored ? PLAIN : negotiate(request.headers.accept, verb === 'watch');
  checkRepresentation(verb, representation, request.query);
  const { clock } = deps;
  const term = termOf(request.headers);
  const parts = term === undefined ? deps.parts : { ...deps.parts, term };
  const isLasting = stream || verb === 'watch';
  const crowd = crowdOf(identity);
  const ms = isLasting ? undefined : isRead(request) ? READ_MS : MUTATION_MS;
  const timed = new TimedRequest(own.request, { crowd, clock, ms });
  const context: VerbContext = {
    parts,
    request: timed,
    identity,
    served: shownTo(identity, served),
    target: own.target,
    ask,
    representation,
  };
  return warningOf(served.kind.deprecation, () => {
    if (isLasting) return lasting(deps, context, handler);
    const answer = () => withDeadline(context, timed, handler);
    return isOwn(identity) ? answer() : limits[crowd].run(answer);
  });
}

/** What goes on goes on as long as its caller may come in. */
function lasting(deps: AppDeps, context: VerbContext, handler: VerbHandler): Eventual<ServerResponse> {
  const known = WhileKnown.of(context.request, context.identity, deps);
  if (known === undefined) return handler(context);
  const request = withSignal(context.request, known.refused);
  return lookedAfter(known, () => handler({ ...context, request }));
}

const PLAIN: Pick<Negotiated, 'representation'> = { representation: 'Object' };

/** A path into a group of Kubernetes' own ends in a Status, one into a group of others in plain text. */
function unserved({ parts }: AppDeps, { group, version }: ResourceTarget): ServerResponse {
  const isCore = (kind: Kind) => kind.origin === 'core' && kind.group === group && kind.version === version;
  if (group === '' || parts.registry.kinds().some(isCore)) throw noSuchResource();
  return nothingHere();
}

/** A kind that is not known may just have been defined on another server: it is looked for again once every acknowledged write is seen. */
function findServed(
  { parts }: AppDeps,
  request: ServerRequest,
  { group, version, plural }: ResourceTarget,
): Eventual<ServedKind | undefined> {
  const served = parts.registry.find(group, version, plural);
  if (served !== undefined) return served;
  return parts.cache.caughtUp(request.signal).then(() => parts.registry.find(group, version, plural));
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

function withDeadline(context: VerbContext, timed: TimedRequest, handler: VerbHandler): Eventual<ServerResponse> {
  return whenOver(
    () => andThen(handler(context), (response) => (changesDefinitions(context) ? seen(context, response) : response)),
    () => timed[Symbol.dispose](),
  );
}

const changesDefinitions = ({ request, served }: VerbContext): boolean =>
  !isRead(request) && resourceId(served.kind) === resourceId(DEFINITIONS);

/** A kind is served, or served otherwise, by the time its definition is answered. */
async function seen({ parts, request }: VerbContext, response: ServerResponse): Promise<ServerResponse> {
  await parts.cache.caughtUp(request.signal);
  return response;
}

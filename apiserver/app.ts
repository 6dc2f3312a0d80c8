import { DEFINITIONS } from '../resources/guards/refs.ts';
import { ApiError, notAllowed } from '../resources/meta/api-error.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import { type AdmitDeps, admitRequest } from './admit-request.ts';
import { DOCUMENTS, type Verb } from './auth/authorization-table.ts';
import { type Ask, authorize } from './auth/authorize.ts';
import { authorizeHost } from './auth/authorize-host.ts';
import type { Identity } from './auth/identity.ts';
import type { ServerVersion } from './discovery/version.ts';
import { Documents, noSuchResource, nothingHere } from './documents.ts';
import { unlessAborted } from './registry/key-queue.ts';
import type { ServedKind } from './registry/registry.ts';
import { negotiate } from './requests/media-type.ts';
import { booleanOption } from './requests/options.ts';
import { parseRoute, type ResourceTarget, type Route } from './requests/route.ts';
import type { App, ServerRequest, ServerResponse } from './requests/server-request.ts';
import { create } from './verbs/create.ts';
import { deleteOne } from './verbs/delete.ts';
import { deleteCollection } from './verbs/delete-collection.ts';
import { get } from './verbs/get.ts';
import { list } from './verbs/list.ts';
import { patch } from './verbs/patch.ts';
import { checkRepresentation } from './verbs/represent.ts';
import { writeScale } from './verbs/scale.ts';
import { selectionOf } from './verbs/selection.ts';
import { update } from './verbs/update.ts';
import type { ServerParts, VerbContext, VerbHandler } from './verbs/verb-context.ts';
import { watch } from './verbs/watch.ts';

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

const VERBS: Readonly<Record<Verb, VerbHandler>> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: deleteOne,
  deletecollection: deleteCollection,
};

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
  const { verb, handler } = stream ? streamOf(deps, request, served, target) : verbOf(request, served, target);
  const ask = askOf(request, served, target, verb);
  authorize(identity, ask);
  authorizeHost(identity, deps.parts.cache.world);
  const representation = stream ? 'Object' : negotiate(request.headers.accept);
  checkRepresentation(verb, representation, request.query);
  const context: VerbContext = { parts: deps.parts, request, identity, served, target, ask, representation };
  if (stream || verb === 'watch') return handler(context);
  return withDeadline(deps, context, isRead(request) ? READ_MS : MUTATION_MS, handler);
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

function isStream({ kind }: ServedKind, { subresource }: ResourceTarget): boolean {
  return kind.streams.some((stream) => stream.name === subresource);
}

/** A stream asked for by plain HTTP: answered when it can be, else the caller is told to upgrade. */
function streamOf(
  deps: AppDeps,
  { method }: ServerRequest,
  { kind }: ServedKind,
  { subresource = '' }: ResourceTarget,
): { verb: Verb; handler: VerbHandler } {
  if (method !== 'GET' && method !== 'POST') throw notAllowed();
  const upgrade = async () => {
    throw new ApiError('BadRequest', `Upgrade request required: ${subresource} is a WebSocket stream`);
  };
  return { verb: 'create', handler: deps.streams?.[`${kind.group}/${kind.plural}/${subresource}`] ?? upgrade };
}

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

/** Which verb a method means here. Throws `MethodNotAllowed`, or `NotFound` for a subresource that the kind has not. */
function verbOf(
  request: ServerRequest,
  { kind }: ServedKind,
  { name, subresource }: ResourceTarget,
): { verb: Verb; handler: VerbHandler } {
  const plain = (verb: Verb) => ({ verb, handler: VERBS[verb] });
  const { method } = request;
  if (name === undefined) {
    if (method === 'HEAD') return plain('list');
    if (method === 'GET') return plain(booleanOption(request.query, 'watch') ? 'watch' : 'list');
    if (method === 'POST') return plain('create');
    if (method === 'DELETE') return plain('deletecollection');
    throw notAllowed();
  }
  if (subresource === undefined) {
    const verb = ITEM_VERBS.get(method);
    if (verb === undefined) throw notAllowed();
    return plain(verb);
  }
  return subresourceVerb(kind, method, subresource);
}

const ITEM_VERBS: ReadonlyMap<string, Verb> = new Map([
  ['HEAD', 'get'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

function subresourceVerb(
  kind: ServedKind['kind'],
  method: string,
  subresource: string,
): { verb: Verb; handler: VerbHandler } {
  const isStatus = subresource === 'status' && kind.status;
  const isScale = subresource === 'scale' && kind.scale !== undefined;
  const isPart = Object.hasOwn(kind.parts, subresource);
  if (!isStatus && !isScale && !isPart) throw noSuchResource();
  if ((method === 'GET' || method === 'HEAD') && !isPart) return { verb: 'get', handler: get };
  if (method === 'PUT') return { verb: 'update', handler: isScale ? writeScale : update };
  if (method === 'PATCH' && !isPart) return { verb: 'patch', handler: isScale ? writeScale : patch };
  throw notAllowed();
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

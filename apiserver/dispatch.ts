import { ApiError, notAllowed, notFound, notSupported } from '../resources/meta/api-error.ts';
import type { RequestKind, Verb } from '../resources/meta/define-kind.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import { noSuchResource } from './documents.ts';
import type { ServedKind } from './registry/registry.ts';
import { booleanOption } from './requests/options.ts';
import type { ResourceTarget } from './requests/route.ts';
import type { ServerRequest } from './requests/server-request.ts';
import { type Answerers, answering } from './verbs/answer.ts';
import { create } from './verbs/create.ts';
import { deleteOne } from './verbs/delete.ts';
import { deleteCollection } from './verbs/delete-collection.ts';
import { get } from './verbs/get.ts';
import { list } from './verbs/list.ts';
import { patch } from './verbs/patch.ts';
import { writeScale } from './verbs/scale.ts';
import { update } from './verbs/update.ts';
import type { VerbHandler } from './verbs/verb-context.ts';
import { watch } from './verbs/watch.ts';

/** What a request means to do with a resource, and what does it. */
interface Dispatched {
  readonly verb: Verb;
  readonly handler: VerbHandler;
}

const HANDLERS: Readonly<Record<Verb, VerbHandler>> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: deleteOne,
  deletecollection: deleteCollection,
};

/** Whether a subresource is a stream. */
export function isStream({ kind }: ServedKind, { subresource }: ResourceTarget): boolean {
  return kind.streams.some((stream) => stream.name === subresource);
}

/** A stream asked for by plain HTTP: answered when it can be, else the caller is told to upgrade. */
export function streamOf(
  streams: Readonly<Record<string, VerbHandler>> | undefined,
  { method }: ServerRequest,
  { kind }: ServedKind,
  { subresource = '' }: ResourceTarget,
): Dispatched {
  if (method !== 'GET' && method !== 'POST') throw notAllowed();
  const upgrade = async () => {
    throw new ApiError('BadRequest', `Upgrade request required: ${subresource} is a WebSocket stream`);
  };
  return { verb: 'create', handler: streams?.[`${kind.group}/${kind.plural}/${subresource}`] ?? upgrade };
}

/** Which verb a method means here. Throws `MethodNotAllowed`, or `NotFound` for a subresource that the kind has not. */
export function verbOf(
  request: ServerRequest,
  { kind }: ServedKind,
  { name, namespace, subresource }: ResourceTarget,
  answerers: Answerers,
): Dispatched {
  if (!kind.stored) {
    if (name !== undefined) throw noSuchResource();
    if (request.method !== 'POST' || (kind.namespaced && namespace === undefined)) throw notAllowed();
    return questionOf(kind, resourceId(kind), answerers);
  }
  const action = kind.actions.find((each) => each.name === subresource);
  if (action !== undefined) {
    if (request.method !== 'POST') throw notAllowed();
    return questionOf(action.request, `${resourceId(kind)}/${action.name}`, answerers);
  }
  const plain = (verb: Verb) => {
    if (!kind.verbs.includes(verb)) throw refusal(kind, verb);
    return { verb, handler: HANDLERS[verb] };
  };
  const { method } = request;
  if (name === undefined) {
    if (method === 'HEAD') return plain('list');
    if (method === 'GET') return plain(booleanOption(request.query, 'watch') ? 'watch' : 'list');
    if (method === 'POST') return plain('create');
    if (method === 'DELETE') return plain('deletecollection');
    if (kind.origin !== 'core' && (method === 'PUT' || method === 'PATCH'))
      throw new ApiError('BadRequest', 'name must be provided');
    throw refusal(kind, '');
  }
  if (subresource === undefined) {
    const verb = ITEM_VERBS.get(method);
    if (verb === undefined) throw refusal(kind, triedBy(method));
    return plain(verb);
  }
  return subresourceVerb(kind, method, name, subresource);
}

function questionOf(kind: RequestKind, id: string, answerers: Answerers): Dispatched {
  const answerer = answerers[id];
  if (answerer === undefined) throw noSuchResource();
  return { verb: 'create', handler: answering(kind, answerer) };
}

/** 405 as the kind's side of a real server words it. */
function refusal(kind: ServedKind['kind'], tried: string): ApiError {
  return kind.origin === 'core' ? notAllowed() : notSupported(kind, tried);
}

const triedBy = (method: string): string => (method === 'POST' ? 'create' : (ITEM_VERBS.get(method) ?? ''));

const ITEM_VERBS: ReadonlyMap<string, Verb> = new Map([
  ['HEAD', 'get'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

function subresourceVerb(kind: ServedKind['kind'], method: string, name: string, subresource: string): Dispatched {
  const isStatus = subresource === 'status' && kind.status;
  const isScale = subresource === 'scale' && kind.scale !== undefined;
  const isPart = Object.hasOwn(kind.parts, subresource);
  const isJoint = Object.hasOwn(kind.joint, subresource);
  if (!isStatus && !isScale && !isPart && !isJoint)
    throw kind.origin === 'core' ? noSuchResource() : notFound(kind, name);
  if (isJoint && method !== 'PATCH') throw refusal(kind, triedBy(method));
  if ((method === 'GET' || method === 'HEAD') && !isPart) return { verb: 'get', handler: get };
  if (method === 'PUT') return { verb: 'update', handler: isScale ? writeScale : update };
  if (method === 'PATCH' && !isPart) return { verb: 'patch', handler: isScale ? writeScale : patch };
  throw refusal(kind, triedBy(method));
}

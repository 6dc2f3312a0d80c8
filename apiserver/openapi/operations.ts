import type { Kind, RequestKind } from '../../resources/meta/define-kind.ts';
import { PROTOBUF_TYPE, protobufReader } from '../protobuf/read-envelope.ts';
import type { Content, GroupVersionKind, Operation, Parameter } from './document.ts';
import * as parameters from './parameters.ts';
import { META_PREFIX, refTo, SCALE_SCHEMA, schemaName } from './schema-name.ts';

/** What an operation is done to: objects of a kind, or one of their subresources. */
export interface Target {
  readonly kind: Kind;
  /** Ends operation ids: `NamespacedVMStatus`. */
  readonly idSuffix: string;
  /** What descriptions call it: `status of a VM`. */
  readonly what: string;
  /** The schema of request and answer. */
  readonly schema: string;
  readonly gvk: GroupVersionKind;
}

const MEDIA = ['application/json', 'application/yaml'];
/** What an object of a kind, or the options of its deletion, may be sent as. */
const sentAs = (kind: Kind): readonly string[] =>
  protobufReader(kind) === undefined ? MEDIA : [...MEDIA, PROTOBUF_TYPE];
const PATCH_MEDIA = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'];

/** The objects of a kind themselves, within a namespace or without. */
export function objectTarget(kind: Kind, scoped: boolean): Target {
  return {
    kind,
    idSuffix: `${scoped ? 'Namespaced' : ''}${kind.kind}`,
    what: `a ${kind.kind}`,
    schema: schemaName(kind, kind.kind),
    gvk: { group: kind.group, version: kind.version, kind: kind.kind },
  };
}

/** A subresource that is a part of the object and answers with all of it. */
export function partTarget(of: Target, name: string): Target {
  return { ...of, idSuffix: `${of.idSuffix}${capitalised(name)}`, what: `${name} of ${of.what}` };
}

export function scaleTarget(of: Target): Target {
  const gvk = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
  return { ...partTarget(of, 'scale'), schema: SCALE_SCHEMA, gvk };
}

/** A subresource that is a question of a kind of its own. */
export function actionTarget(of: Target, name: string, request: RequestKind): Target {
  const { group, version, kind } = request;
  return { ...partTarget(of, name), schema: schemaName(request, kind), gvk: { group, version, kind } };
}

export function list(target: Target, suffix = ''): Operation {
  const { kind } = target;
  const schema = schemaName(kind, kind.listKind);
  return {
    ...named(target, 'list', `list${versionId(kind)}${target.idSuffix}${suffix}`, `List or watch ${kind.plural}.`),
    parameters: [...parameters.LIST],
    responses: answers('200', content([...MEDIA, 'application/json;stream=watch'], schema)),
  };
}

export function create(target: Target): Operation {
  return {
    ...named(target, 'post', `create${versionId(target.kind)}${target.idSuffix}`, `Create ${target.what}.`),
    parameters: [...parameters.WRITE],
    requestBody: { required: true, content: content(sentAs(target.kind), target.schema) },
    responses: { ...answers('201', content(MEDIA, target.schema)), ...answers('202', content(MEDIA, target.schema)) },
  };
}

export function read(target: Target): Operation {
  return {
    ...named(target, 'get', `read${versionId(target.kind)}${target.idSuffix}`, `Read ${target.what}.`),
    parameters: [...parameters.GET],
    responses: answers('200', content(MEDIA, target.schema)),
  };
}

export function replace(target: Target): Operation {
  return {
    ...named(target, 'put', `replace${versionId(target.kind)}${target.idSuffix}`, `Replace ${target.what}.`),
    parameters: [...parameters.WRITE],
    requestBody: {
      required: true,
      content: content(target.gvk.kind === target.kind.kind ? sentAs(target.kind) : MEDIA, target.schema),
    },
    responses: { ...answers('200', content(MEDIA, target.schema)), ...answers('201', content(MEDIA, target.schema)) },
  };
}

/** Strategic merge is told of built-in kinds only: a client that reads of it computes such patches, which custom kinds refuse. */
export function patch(target: Target): Operation {
  const media =
    target.kind.origin === 'core' ? [...PATCH_MEDIA, 'application/strategic-merge-patch+json'] : PATCH_MEDIA;
  return {
    ...named(target, 'patch', `patch${versionId(target.kind)}${target.idSuffix}`, `Change parts of ${target.what}.`),
    // Kubernetes does not list `force` for users' kinds; it is read there all the same.
    parameters: target.kind.origin === 'user' ? [...parameters.WRITE] : [...parameters.PATCH],
    requestBody: { required: true, content: content(media, `${META_PREFIX}.Patch`) },
    responses: { ...answers('200', content(MEDIA, target.schema)), ...answers('201', content(MEDIA, target.schema)) },
  };
}

export function remove(target: Target): Operation {
  return {
    ...named(target, 'delete', `delete${versionId(target.kind)}${target.idSuffix}`, `Delete ${target.what}.`),
    ...deletion(target.kind, [...parameters.DELETE]),
  };
}

export function removeMany(target: Target): Operation {
  const { kind } = target;
  const id = `delete${versionId(kind)}Collection${target.idSuffix}`;
  return {
    ...named(target, 'deletecollection', id, `Delete all ${kind.plural} that match.`),
    ...deletion(kind, [...selecting, ...parameters.DELETE]),
  };
}

/** A stream: the answer is a change of protocol, and the bytes are the stream's own. */
export function connect(target: Target, method: 'get' | 'post', description: string): Operation {
  const id = `connect${capitalised(method)}${versionId(target.kind)}${target.idSuffix}`;
  return {
    ...named(target, 'connect', id, description),
    responses: { '101': { description: 'Switching Protocols' }, ...answers('401', undefined) },
  };
}

const WATCH_ONLY = new Set(['watch', 'allowWatchBookmarks', 'sendInitialEvents']);
const selecting = parameters.LIST.filter((parameter) => !WATCH_ONLY.has(parameter.name));

function deletion(
  kind: Kind,
  query: readonly Parameter[],
): Pick<Operation, 'parameters' | 'requestBody' | 'responses'> {
  const status = content(MEDIA, `${META_PREFIX}.Status`);
  return {
    parameters: query,
    requestBody: { required: false, content: content(sentAs(kind), `${META_PREFIX}.DeleteOptions`) },
    responses: { ...answers('200', status), ...answers('202', status) },
  };
}

function named(target: Target, action: string, operationId: string, description: string) {
  return {
    description,
    operationId,
    tags: [tagOf(target.kind)],
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': target.gvk,
  };
}

/** `core_v1`, `coppiceDev_v1`: groups operations for generators. */
export function tagOf(of: { readonly group: string; readonly version: string }): string {
  return `${camel(of.group) || 'core'}_${of.version}`;
}

const versionId = (of: { readonly group: string; readonly version: string }): string =>
  `${capitalised(camel(of.group) || 'core')}${capitalised(of.version)}`;

const camel = (group: string): string => group.replace(/[.-]+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const capitalised = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

const content = (media: readonly string[], schema: string): Content =>
  Object.fromEntries(media.map((type) => [type, { schema: refTo(schema) }]));

const MEANINGS: Readonly<Record<string, string>> = {
  '200': 'OK',
  '201': 'Created',
  '202': 'Accepted',
  '401': 'Unauthorized',
};

/** One answer, and that of a request without a credential. */
function answers(code: string, body: Content | undefined): Operation['responses'] {
  const described = (of: string) => ({ description: MEANINGS[of] ?? of });
  return {
    [code]: { ...described(code), ...(body === undefined ? {} : { content: body }) },
    '401': described('401'),
  };
}

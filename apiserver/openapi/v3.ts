import type { Kind, Verb } from '../../resources/meta/define-kind.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { GIT_VERSION } from '../discovery/version.ts';
import type { Method, OpenAPIDocument, OpenSchema, Operation, PathItem } from './document.ts';
import { kindSchemas, requestSchema } from './kind-schema.ts';
import { META_SCHEMAS, SCALE } from './meta-schemas.ts';
import * as operations from './operations.ts';
import { NAME, NAMESPACE, PRETTY } from './parameters.ts';
import { META_PREFIX, refTo } from './schema-name.ts';

/** `/openapi/v3`. */
interface OpenAPIIndex {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

/** The index of documents. An address holds the hash, so that clients may keep what they fetched for ever. */
export function openAPIIndex(documents: ReadonlyMap<string, { readonly hash: string }>): OpenAPIIndex {
  return {
    paths: Object.fromEntries(
      [...documents].map(([path, { hash }]) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }]),
    ),
  };
}

/** The document of the kinds of one group and version; at least one kind. */
export function openAPIDocument(kinds: readonly Kind[]): OpenAPIDocument {
  const first = kinds[0];
  if (first === undefined) throw new Error('a document describes at least one kind');
  const schemas: Record<string, OpenSchema> = { ...META_SCHEMAS };
  // Where all kinds are users' own, Kubernetes has no path for their list.
  const listed = kinds.some(({ origin }) => origin !== 'user');
  let paths: Record<string, PathItem> = listed ? { [`${rootOf(first)}/`]: resourcesPath(first) } : {};
  for (const kind of kinds) {
    Object.assign(schemas, kindSchemas(kind), kind.scale === undefined ? {} : SCALE);
    for (const { request } of kind.actions) Object.assign(schemas, requestSchema(request));
    paths = { ...paths, ...pathsOf(kind) };
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Coppice', version: GIT_VERSION },
    paths,
    components: { schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))) },
  };
}

/** `/api/v1`, `/apis/coppice.dev/v1`. */
export const rootOf = (of: { readonly group: string; readonly version: string }): string =>
  of.group === '' ? `/api/${of.version}` : `/apis/${apiVersionOf(of)}`;

function resourcesPath(of: { readonly group: string; readonly version: string }): PathItem {
  const schema = refTo(`${META_PREFIX}.APIResourceList`);
  return {
    get: {
      description: 'The resources of this group and version.',
      operationId: `get_${operations.tagOf(of)}_resources`,
      tags: [operations.tagOf(of)],
      responses: {
        '200': { description: 'OK', content: { 'application/json': { schema } } },
        '401': { description: 'Unauthorized' },
      },
    },
  };
}

function pathsOf(kind: Kind): Record<string, PathItem> {
  const root = rootOf(kind);
  const target = operations.objectTarget(kind, kind.namespaced);
  const collection = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`;
  const item = `${collection}/{name}`;
  const inside = kind.namespaced ? [NAMESPACE, PRETTY] : [PRETTY];
  const { list, create, removeMany, read, replace, patch, remove } = operations;
  const served = (verb: Verb, method: Method, operation: Operation): PathItem =>
    kind.verbs.includes(verb) ? { [method]: operation } : {};
  const paths: Record<string, PathItem> = {
    ...(kind.namespaced && kind.verbs.includes('list') ? { [`${root}/${kind.plural}`]: everywhere(kind) } : {}),
    [collection]: {
      parameters: inside,
      ...served('list', 'get', list(target)),
      ...served('create', 'post', create(target)),
      ...served('deletecollection', 'delete', removeMany(target)),
    },
  };
  if (!kind.stored) return paths;
  return {
    ...paths,
    [item]: {
      parameters: [NAME, ...inside],
      ...served('get', 'get', read(target)),
      ...served('update', 'put', replace(target)),
      ...served('patch', 'patch', patch(target)),
      ...served('delete', 'delete', remove(target)),
    },
    ...subresourcePaths(kind, target, item, [NAME, ...inside]),
  };
}

function everywhere(kind: Kind): PathItem {
  return { parameters: [PRETTY], get: operations.list(operations.objectTarget(kind, false), 'ForAllNamespaces') };
}

function subresourcePaths(
  kind: Kind,
  target: operations.Target,
  item: string,
  parameters: NonNullable<PathItem['parameters']>,
): Record<string, PathItem> {
  const { read, replace, patch, connect } = operations;
  const paths: Record<string, PathItem> = {};
  const updatable = (of: operations.Target): PathItem => ({
    parameters,
    get: read(of),
    put: replace(of),
    patch: patch(of),
  });
  if (kind.status) paths[`${item}/status`] = updatable(operations.partTarget(target, 'status'));
  if (kind.scale !== undefined) paths[`${item}/scale`] = updatable(operations.scaleTarget(target));
  for (const name of Object.keys(kind.parts)) {
    paths[`${item}/${name}`] = { parameters, put: replace(operations.partTarget(target, name)) };
  }
  for (const name of Object.keys(kind.joint)) {
    paths[`${item}/${name}`] = { parameters, patch: patch(operations.partTarget(target, name)) };
  }
  for (const { name, request } of kind.actions) {
    paths[`${item}/${name}`] = { parameters, post: operations.create(operations.actionTarget(target, name, request)) };
  }
  for (const { name, description } of kind.streams) {
    const of = operations.partTarget(target, name);
    paths[`${item}/${name}`] = {
      parameters,
      get: connect(of, 'get', description),
      post: connect(of, 'post', description),
    };
  }
  return paths;
}

import { ApiError } from '../../resources/meta/api-error.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { type DiscoveredResource, discover } from '../discovery/discovery.ts';
import { type NamedObject, selectionOf } from '../discovery/selection.ts';
import { Exit, Failure } from '../failure.ts';
import { type Io, warn } from '../io.ts';
import { listAll } from '../list-all.ts';
import { renderJson } from '../render/json.ts';
import { withoutManagedFields } from '../render/managed-fields.ts';
import { objectName } from '../render/name.ts';
import { type Output, outputOf } from '../render/output.ts';
import { renderYaml } from '../render/yaml.ts';
import { openSession, type Session } from '../session.ts';
import { getTables } from './get-tables.ts';
import { watchObjects } from './get-watch.ts';

export interface GetOptions {
  readonly words: readonly string[];
  readonly output: string | undefined;
  readonly allNamespaces: boolean;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  readonly watch: boolean;
  readonly ignoreNotFound: boolean;
  readonly showManagedFields: boolean;
}

/** What is asked of one resource: some of its objects by name, or all that match. */
export interface Query {
  readonly resource: DiscoveredResource;
  /** Undefined is all namespaces. */
  readonly namespace: string | undefined;
  readonly names: readonly string[] | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Prints objects; goes on printing changes with `watch`. */
export async function get(io: Io, target: Target, options: GetOptions): Promise<void> {
  await using session = await openSession(io, target);
  const selection = selectionOf(await discover(session.client, io.signal), options.words);
  if (selection.kind === 'named') refuseWithNames(options);
  const queries =
    selection.kind === 'all'
      ? selection.resources.map((resource) => queryOf(session, resource, options))
      : byResource(selection.objects).map(([resource, names]) => ({ ...queryOf(session, resource, options), names }));
  const output = outputOf(io, options.output);
  const shown = options.showManagedFields ? (object: KubeObject) => object : withoutManagedFields;
  const { allNamespaces } = options;
  if (options.watch) return watchObjects(session, oneOf(queries), output, { allNamespaces, shown });
  if (output === 'table' || output === 'wide') {
    return getTables(session, queries, { ...options, wide: output === 'wide' });
  }
  const { objects, failures } = await getObjects(session, queries, options.ignoreNotFound);
  const single = selection.kind === 'named' && selection.objects.length === 1;
  if (!single || objects.length > 0) printObjects(io, objects.map(shown), output, single, queries);
  for (const failure of failures) warn(io, `error: ${failure.message}`);
  if (failures.length > 0) throw new Exit(1);
}

function refuseWithNames(options: GetOptions): void {
  if (options.allNamespaces)
    throw new Failure('a name says one object, and -A says all namespaces', { hint: 'use -n' });
  if (options.labelSelector !== undefined) throw new Failure('give either names or a selector, not both');
}

function queryOf(session: Session, resource: DiscoveredResource, options: GetOptions): Query {
  return {
    resource,
    namespace: resource.namespaced && !options.allNamespaces ? session.namespace : undefined,
    names: undefined,
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
  };
}

function byResource(objects: readonly NamedObject[]): [DiscoveredResource, string[]][] {
  const out = new Map<DiscoveredResource, string[]>();
  for (const { resource, name } of objects) out.set(resource, [...(out.get(resource) ?? []), name]);
  return [...out];
}

function oneOf(queries: readonly Query[]): Query {
  const [query, second] = queries;
  if (query === undefined || second !== undefined || (query.names?.length ?? 0) > 1)
    throw new Failure('-w watches one type, or one object of it');
  return query;
}

/** Every object asked for, and what went wrong for the others. */
async function getObjects(
  session: Session,
  queries: readonly Query[],
  ignoreNotFound: boolean,
): Promise<{ objects: KubeObject[]; failures: ApiError[] }> {
  const { client, io } = session;
  const objects: KubeObject[] = [];
  const failures: ApiError[] = [];
  for (const query of queries) {
    const resource = client.resource(query.resource, query.namespace);
    if (query.names === undefined) {
      const { items } = await listAll(resource, query, io.signal);
      // Items of a list may leave out what the list says of them all.
      const { group, version, kind } = query.resource;
      const apiVersion = group === '' ? version : `${group}/${version}`;
      objects.push(...items.map((item) => ({ ...item, apiVersion, kind })));
      continue;
    }
    for (const name of query.names) {
      try {
        objects.push(await resource.get(name, io.signal));
      } catch (error) {
        if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
        if (!ignoreNotFound) failures.push(error);
      }
    }
  }
  return { objects, failures };
}

function printObjects(
  io: Io,
  objects: readonly KubeObject[],
  output: Output,
  single: boolean,
  queries: readonly Query[],
): void {
  if (output === 'name') {
    for (const object of objects) io.stdout.write(`${objectName(refOf(object, queries), object.metadata.name)}\n`);
    return;
  }
  const value = single
    ? objects[0]
    : { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: objects };
  io.stdout.write(output === 'yaml' ? renderYaml(value) : renderJson(value));
}

/** The resource an object came from, for its name. */
export function refOf(object: KubeObject, queries: readonly Query[]): Pick<DiscoveredResource, 'group' | 'kind'> {
  const own = queries.find((query) => query.resource.kind === object.kind)?.resource;
  return own ?? { group: '', kind: object.kind };
}

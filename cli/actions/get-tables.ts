import { ApiError } from '../../resources/meta/api-error.ts';
import { Exit } from '../failure.ts';
import { warn } from '../io.ts';
import { typeName } from '../render/name.ts';
import {
  cellsOf,
  headersOf,
  type ServerTable,
  TABLE_ACCEPT,
  type TableShape,
  tableOf,
} from '../render/server-table.ts';
import { alignColumns } from '../render/table.ts';
import type { Session } from '../session.ts';
import type { Query } from './get.ts';

interface TableOptions {
  readonly wide: boolean;
  readonly allNamespaces: boolean;
  readonly ignoreNotFound: boolean;
}

/** Prints one table a resource, the columns as the server chose them. */
export async function getTables(session: Session, queries: readonly Query[], options: TableOptions): Promise<void> {
  const { io } = session;
  let printed = 0;
  const failures: ApiError[] = [];
  for (const query of queries) {
    const tables = await tablesOf(session, query, options.ignoreNotFound, failures);
    const [first] = tables;
    if (first === undefined || tables.every((table) => table.rows.length === 0)) continue;
    const shape = shapeOf(query, options, queries.length > 1);
    const rows = tables.flatMap((table) => table.rows).map((row) => cellsOf(first.columns, row, shape));
    if (printed++ > 0) io.stdout.write('\n');
    io.stdout.write(alignColumns([headersOf(first.columns, shape), ...rows]));
  }
  for (const failure of failures) warn(io, `error: ${failure.message}`);
  if (failures.length > 0) throw new Exit(1);
  if (printed === 0 && queries.some((query) => query.names === undefined)) warn(io, nothingFound(queries, options));
}

export function shapeOf(
  query: Query,
  options: { wide: boolean; allNamespaces: boolean },
  prefixed: boolean,
): TableShape {
  return {
    wide: options.wide,
    namespaces: options.allNamespaces && query.resource.namespaced,
    prefix: prefixed ? `${typeName(query.resource)}/` : '',
  };
}

function nothingFound(queries: readonly Query[], options: TableOptions): string {
  const namespace = queries.find((query) => query.resource.namespaced)?.namespace;
  return options.allNamespaces || namespace === undefined
    ? 'No resources found'
    : `No resources found in ${namespace} namespace.`;
}

async function tablesOf(
  session: Session,
  query: Query,
  ignoreNotFound: boolean,
  failures: ApiError[],
): Promise<ServerTable[]> {
  const { client, io } = session;
  const resource = client.resource(query.resource, query.namespace);
  const ask = async (path: string) =>
    tableOf(await client.json({ method: 'GET', path, headers: { accept: TABLE_ACCEPT }, signal: io.signal }));
  const tables: ServerTable[] = [];
  if (query.names === undefined) {
    for (let token: string | undefined = ''; token !== undefined; ) {
      const table: ServerTable = await ask(`${resource.path()}?${parametersOf(query, token)}`);
      tables.push(table);
      token = table.continueToken;
    }
    return tables;
  }
  for (const name of query.names) {
    try {
      tables.push(await ask(resource.path(name)));
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
      if (!ignoreNotFound) failures.push(error);
    }
  }
  return tables;
}

/** The query of a list; `token` is where the last page ended. */
export function parametersOf(query: Query, token: string): URLSearchParams {
  const out = new URLSearchParams({ limit: '500' });
  if (query.labelSelector !== undefined) out.set('labelSelector', query.labelSelector);
  if (query.fieldSelector !== undefined) out.set('fieldSelector', query.fieldSelector);
  if (token !== '') out.set('continue', token);
  return out;
}

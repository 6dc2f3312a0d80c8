import { lines } from '../../apiserver/client/watch.ts';
import { ApiError, type Status } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import { listAll } from '../list-all.ts';
import { renderJson } from '../render/json.ts';
import { objectName } from '../render/name.ts';
import type { Output } from '../render/output.ts';
import { cellsOf, headersOf, TABLE_ACCEPT, type TableColumn, tableOf } from '../render/server-table.ts';
import { columnWidths, lineOf, oneLine } from '../render/table.ts';
import { renderYaml } from '../render/yaml.ts';
import type { Session } from '../session.ts';
import type { Query } from './get.ts';
import { parametersOf, shapeOf } from './get-tables.ts';

/** Prints what there is, then every change, until Ctrl-C or the server ends the stream. */
export async function watchObjects(
  session: Session,
  asked: Query,
  output: Output,
  { allNamespaces, shown }: { readonly allNamespaces: boolean; readonly shown: (object: KubeObject) => KubeObject },
): Promise<void> {
  const [name] = asked.names ?? [];
  const query = name === undefined ? asked : { ...asked, names: undefined, fieldSelector: `metadata.name=${name}` };
  if (output === 'table' || output === 'wide') {
    return watchTable(session, query, name, { wide: output === 'wide', allNamespaces });
  }
  const resource = session.client.resource(query.resource, query.namespace);
  const print = (object: KubeObject) => {
    if (output === 'name') session.io.stdout.write(`${objectName(query.resource, object.metadata.name)}\n`);
    else session.io.stdout.write(output === 'yaml' ? `---\n${renderYaml(shown(object))}` : renderJson(shown(object)));
  };
  if (name !== undefined) await resource.get(name, session.io.signal);
  const { items, resourceVersion } = await listAll(resource, query, session.io.signal);
  const { group, version, kind } = query.resource;
  for (const item of items) print({ ...item, apiVersion: group === '' ? version : `${group}/${version}`, kind });
  const { labelSelector, fieldSelector } = query;
  const selectors = {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  for await (const event of await resource.watch({ resourceVersion, ...selectors }, session.io.signal)) {
    if (event.type !== 'BOOKMARK') print(event.object);
  }
}

/** Tables line by line: columns grow as wider cells come, and never shrink. */
async function watchTable(
  session: Session,
  query: Query,
  name: string | undefined,
  options: { wide: boolean; allNamespaces: boolean },
): Promise<void> {
  const { client, io } = session;
  const resource = client.resource(query.resource, query.namespace);
  const shape = shapeOf(query, options, false);
  let columns: readonly TableColumn[] = [];
  let widths: number[] = [];
  const show = (table: JsonObject) => {
    const { columns: own, rows } = tableOf(table);
    if (own.length > 0) columns = own;
    const texts = rows.map((row) => cellsOf(columns, row, shape).map(oneLine));
    if (texts.length === 0) return;
    const shown = widths.length === 0 ? [headersOf(columns, shape), ...texts] : texts;
    widths = columnWidths(shown, widths);
    for (const text of shown) io.stdout.write(`${lineOf(text, widths)}\n`);
  };
  const ask = { method: 'GET', headers: { accept: TABLE_ACCEPT }, signal: io.signal };
  if (name !== undefined) await resource.get(name, io.signal);
  const parameters = parametersOf(query, '');
  parameters.delete('limit');
  const listed = await client.json({ ...ask, path: `${resource.path()}?${parameters}` });
  if (isObject(listed)) show(listed);
  parameters.set('watch', 'true');
  parameters.set('resourceVersion', tableOf(listed).resourceVersion);
  for await (const line of lines(await client.stream({ ...ask, path: `${resource.path()}?${parameters}` }))) {
    const event: unknown = JSON.parse(line);
    if (!isObject(event) || !isObject(event.object)) continue;
    if (event.type === 'ERROR') throw ApiError.fromStatus(event.object as Partial<Status>, 500);
    if (event.type !== 'BOOKMARK') show(event.object);
  }
}

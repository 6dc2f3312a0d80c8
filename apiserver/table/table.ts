import type { Kind } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { type Cell, type ColumnDefinition, columnsOf } from './columns.ts';
import { type ListMeta, type PartialObjectMetadata, partialMetadata } from './partial-metadata.ts';

/** What each row carries of its object: its metadata, all of it, or nothing. */
export type IncludeObject = 'Metadata' | 'Object' | 'None';

export interface TableRow {
  readonly cells: readonly Cell[];
  readonly object?: PartialObjectMetadata | KubeObject;
}

/** meta.k8s.io/v1 Table. `columnDefinitions` is null after the first event of a watch. */
export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: 'meta.k8s.io/v1';
  readonly metadata: ListMeta;
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly TableRow[];
}

export interface RowOptions {
  readonly includeObject?: IncludeObject;
  /** Ages are told from this instant. */
  readonly nowMs: number;
}

export interface TableOptions extends RowOptions {
  /** That of the list; of a single object or event, its resourceVersion. */
  readonly listMeta: ListMeta;
  /** Default true. */
  readonly withColumns?: boolean;
}

/** Objects of a kind as the rows kubectl prints. */
export function tableOf(kind: Kind, objects: readonly KubeObject[], options: TableOptions): Table {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.listMeta,
    columnDefinitions: options.withColumns === false ? null : columnsOf(kind).map((column) => column.definition),
    rows: objects.map((object) => rowOf(kind, object, options)),
  };
}

/** One object as a row. Nothing is parsed and no column is built: made for watches, which send a row an event. */
export function rowOf(kind: Kind, object: KubeObject, options: RowOptions): TableRow {
  const cells = columnsOf(kind).map((column) => column.cell(object, options.nowMs));
  const includeObject = options.includeObject ?? 'Metadata';
  switch (includeObject) {
    case 'Metadata':
      return { cells, object: partialMetadata(object) };
    case 'Object':
      return { cells, object };
    case 'None':
      return { cells };
    default:
      throw new Error(`unhandled includeObject ${includeObject satisfies never}`);
  }
}

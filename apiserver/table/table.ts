import type { Kind } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { MetaVersion } from '../requests/media-type.ts';
import { type Cell, type ColumnDefinition, columnsOf } from './columns.ts';
import { type ListMeta, type PartialObjectMetadata, partialMetadata } from './partial-metadata.ts';

/** What each row carries of its object: its metadata, all of it, or nothing. */
export type IncludeObject = 'Metadata' | 'Object' | 'None';

interface TableRow {
  readonly cells: readonly Cell[];
  /** Null where nothing of it was asked for. */
  readonly object: PartialObjectMetadata | KubeObject | null;
}

/** Table of meta.k8s.io. `columnDefinitions` is null after the first event of a watch. */
export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: MetaVersion;
  readonly metadata: ListMeta;
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly TableRow[];
}

interface RowOptions {
  readonly includeObject?: IncludeObject;
  /** Default meta.k8s.io/v1. */
  readonly metaVersion?: MetaVersion;
  /** Ages are told from this instant. */
  readonly nowMs: number;
}

interface TableOptions extends RowOptions {
  /** That of the list; of a single object or event, its resourceVersion. */
  readonly listMeta: ListMeta;
  /** Default true. */
  readonly withColumns?: boolean;
}

/** Objects of a kind as the rows kubectl prints. */
export function tableOf(kind: Kind, objects: readonly KubeObject[], options: TableOptions): Table {
  return {
    kind: 'Table',
    apiVersion: options.metaVersion ?? 'meta.k8s.io/v1',
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
      return { cells, object: partialMetadata(object, options.metaVersion) };
    case 'Object':
      return { cells, object };
    case 'None':
      return { cells, object: null };
    default:
      throw new Error(`unhandled includeObject ${includeObject satisfies never}`);
  }
}

import { isObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';

/** A Table the server made (meta.k8s.io/v1), ready to print. */
export interface ServerTable {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
}

export interface TableColumn {
  readonly name: string;
  /** Above 0 it shows only when the table is wide. */
  readonly priority: number;
}

interface TableRow {
  readonly cells: readonly unknown[];
  readonly name: string;
  readonly namespace: string;
}

/** What to ask for to be answered a Table. */
export const TABLE_ACCEPT = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

export function tableOf(answer: unknown): ServerTable {
  if (!isObject(answer) || answer.kind !== 'Table') throw new Failure('the server does not answer tables; use -o json');
  const metadata = isObject(answer.metadata) ? answer.metadata : {};
  const next = metadata.continue;
  return {
    columns: list(answer.columnDefinitions).map((column) => ({
      name: String(column.name),
      priority: typeof column.priority === 'number' ? column.priority : 0,
    })),
    rows: list(answer.rows).map((row) => {
      const object = isObject(row.object) && isObject(row.object.metadata) ? row.object.metadata : {};
      return {
        cells: Array.isArray(row.cells) ? row.cells : [],
        name: typeof object.name === 'string' ? object.name : '',
        namespace: typeof object.namespace === 'string' ? object.namespace : '',
      };
    }),
    resourceVersion: typeof metadata.resourceVersion === 'string' ? metadata.resourceVersion : '',
    continueToken: typeof next === 'string' && next !== '' ? next : undefined,
  };
}

export interface TableShape {
  readonly wide: boolean;
  readonly namespaces: boolean;
  /** Put before each name, such as `vm.coppice.dev/`. */
  readonly prefix: string;
}

export function headersOf(columns: readonly TableColumn[], shape: TableShape): string[] {
  const shown = columns.filter((column) => shape.wide || column.priority === 0).map((column) => column.name);
  return (shape.namespaces ? ['Namespace', ...shown] : shown).map((name) => name.toUpperCase());
}

export function cellsOf(columns: readonly TableColumn[], row: TableRow, shape: TableShape): string[] {
  const cells = columns.flatMap((column, index) => {
    if (!shape.wide && column.priority > 0) return [];
    const text = cellText(row.cells[index]);
    return [index === 0 ? shape.prefix + text : text];
  });
  return shape.namespaces ? [row.namespace, ...cells] : cells;
}

function cellText(cell: unknown): string {
  // What the server has no value for is left empty, as kubectl leaves it.
  if (cell === null || cell === undefined) return '';
  return typeof cell === 'string' ? cell : JSON.stringify(cell);
}

const list = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);

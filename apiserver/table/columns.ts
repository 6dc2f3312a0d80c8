import type { Column, Kind } from '../../resources/meta/define-kind.ts';
import { humanDuration } from '../../resources/meta/duration.ts';
import { isObject, type KubeObject } from '../../resources/meta/object.ts';
import { printerColumns } from '../../resources/meta/printer-columns.ts';
import { parseJsonPath, valuesAt } from './json-path.ts';

export type Cell = string | number | bigint | boolean | null;

/** A column as a Table states it (meta.k8s.io/v1 TableColumnDefinition). */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** A column ready for use: how it is announced, and what it shows of an object. */
interface CompiledColumn {
  readonly definition: ColumnDefinition;
  cell(object: KubeObject, nowMs: number): Cell;
}

const NAME: CompiledColumn = {
  definition: {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'The name, unique among the objects of this kind in the namespace.',
    priority: 0,
  },
  cell: (object) => object.metadata.name,
};

const compiled = new WeakMap<Kind, readonly CompiledColumn[]>();

/** The columns of a kind, Name first, their paths parsed once. */
export function columnsOf(kind: Kind): readonly CompiledColumn[] {
  const known = compiled.get(kind);
  if (known !== undefined) return known;
  const own = printerColumns(kind).map((column) => compile(column, kind));
  const made = kind.nameColumn ? [NAME, ...own] : own;
  compiled.set(kind, made);
  return made;
}

function compile(column: Column, { origin, struct }: Kind): CompiledColumn {
  const path = column.value === undefined ? parseJsonPath(column.jsonPath) : undefined;
  const definition: ColumnDefinition = {
    name: column.name,
    // A Kubernetes server announces ages of its own kinds as the text they are.
    type: struct && column.type === 'date' ? 'string' : column.type,
    format: column.format ?? '',
    description: column.description || `What stands in the object at the path ${column.jsonPath}.`,
    priority: column.priority ?? 0,
  };
  // A Kubernetes server leaves the cell empty where a custom kind has no value, and names the unknown date of its own kinds.
  const missing: Cell = origin === 'core' && column.type === 'date' ? '<unknown>' : struct ? '' : null;
  const { value } = column;
  if (value !== undefined) {
    // A number stays one in a column of texts, as a Kubernetes server has it.
    const shown = (object: KubeObject, nowMs: number): Cell => {
      const found = value(object);
      return typeof found === 'number' ? found : cellOf(column.type, found, nowMs);
    };
    return { definition, cell: (object, nowMs) => shown(object, nowMs) ?? missing };
  }
  if (path === undefined) return { definition, cell: () => missing };
  return {
    definition,
    cell: (object, nowMs) => {
      const [value] = valuesAt(path, object);
      // Text is what a template would print, which has words for null.
      if (value === null && column.type === 'string') return '<no value>';
      return cellOf(column.type, value, nowMs) ?? missing;
    },
  };
}

/** What a column of a type shows of a value; nothing for a value of another type. */
function cellOf(type: Column['type'], value: unknown, nowMs: number): Cell {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'string':
      return textOf(value);
    case 'integer':
      if (typeof value === 'bigint') return value;
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageOf(value, nowMs) : null;
    default:
      throw new Error(`unhandled column type ${type satisfies never}`);
  }
}

/** Objects and lists as JSON with sorted keys, as kubectl's JSONPath prints them. */
function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return encoded(value);
}

function encoded(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(encoded).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const fields = Object.keys(value).sort();
  return `{${fields.map((field) => `${JSON.stringify(field)}:${encoded(value[field])}`).join(',')}}`;
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function ageOf(instant: string, nowMs: number): string {
  if (instant === '' || instant === 'null') return '<unknown>';
  const then = RFC3339.test(instant) ? Date.parse(instant) : Number.NaN;
  return Number.isNaN(then) ? '<invalid>' : humanDuration(nowMs - then);
}

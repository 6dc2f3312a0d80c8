import type { Kind } from '../../resources/meta/define-kind.ts';
import { encodeJson, parseJson } from '../../resources/meta/json.ts';
import { JsonSyntaxError } from '../../resources/meta/json-syntax-error.ts';
import { isObject, type JsonObject, valueAt, withValueAt } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { compare } from './compare.ts';
import type { Conflict } from './conflicts.ts';
import { difference, EMPTY, type FieldSet, isEmpty } from './field-set.ts';
import { mergeTypeOf } from './merge-type.ts';
import { toFieldSet } from './to-field-set.ts';
import { withoutRecord } from './update.ts';

/** The manager whose objects may have been applied from the client before: only it may take them over. */
export const KUBECTL = 'kubectl';

const PATH = ['metadata', 'annotations', 'kubectl.kubernetes.io/last-applied-configuration'];

/**
 * The conflicts that are left when what kubectl applied from the client is its own: fields that stand as its last-applied annotation says.
 * None left means that it may take them.
 */
export function beyondLastApplied(kind: Kind, live: JsonObject, conflicts: readonly Conflict[]): readonly Conflict[] {
  const own = lastAppliedFields(kind, live);
  return conflicts
    .map(({ owner, fields }) => ({ owner, fields: difference(fields, own) }))
    .filter(({ fields }) => !isEmpty(fields));
}

function lastAppliedFields(kind: Kind, live: JsonObject): FieldSet {
  const last = parsed(valueAt(live, PATH));
  if (last === undefined || last.apiVersion !== apiVersionOf(kind)) return EMPTY;
  const type = mergeTypeOf(kind);
  const { added, modified, removed } = compare(last, withoutRecord(live), type);
  return [modified, added, removed].reduce(difference, toFieldSet(last, type));
}

function parsed(text: unknown): JsonObject | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    const { value } = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** The object with its last-applied annotation saying what was applied now, where it has one: kubectl's two ways of applying can take turns. */
export function withLastAppliedOf(object: JsonObject, config: JsonObject): JsonObject {
  const there = valueAt(object, PATH);
  if (typeof there !== 'string' || there === '') return object;
  return withValueAt(object, PATH, `${escaped(encodeJson(sorted(withoutAnnotation(config))))}\n`);
}

/** Go escapes these characters in JSON, and the annotation is compared byte for byte. */
function escaped(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function withoutAnnotation(config: JsonObject): JsonObject {
  return valueAt(config, PATH) === undefined ? config : withValueAt(config, PATH, undefined);
}

/** With fields in the order of their names, as the annotation is written everywhere. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  );
}

/** What stands between a field of a message and its place in JSON. */
export interface MessageField {
  readonly name: string;
  /** A scalar, or the name of a message. */
  readonly type: string;
  readonly many: 'one' | 'list' | 'map';
  /**
   * What becomes of a zero value. Go writes every field that is no pointer, whether it was set or not: `omitted` is one that its JSON leaves
   * out (`omitempty`), `kept` one that its JSON shows, and `set` a pointer, which is on the wire only where it was set.
   */
  readonly zero: 'omitted' | 'kept' | 'set';
}

/** The fields of a message by their number. */
export type MessageFields = ReadonlyMap<number, MessageField>;

const SCALARS = ['string', 'bytes', 'bool', 'int32', 'int64', 'double', 'json', 'raw'] as const;
export type Scalar = (typeof SCALARS)[number];

export const isScalar = (type: string): type is Scalar => (SCALARS as readonly string[]).includes(type);

const LINE = /^(\d+) (\S+) (?:\[(\w+)\]|\{(\w+)\}|(\w+)([?!]?))$/;

/**
 * Reads a table: a line a field, of its number, its name in JSON and its type. `[T]` is a list, `{T}` a map from strings; `T?` a pointer in
 * Go and `T!` a value that its JSON always shows (a time
 * that is not set, as null). `json` is JSON text in bytes, `raw` bytes
 * that stay such.
 */
export function messageFields(table: string): MessageFields {
  const fields = new Map<number, MessageField>();
  for (const line of table.split('\n').map((text) => text.trim())) {
    if (line === '') continue;
    const [, number, name, list, map, one, mark] = LINE.exec(line) ?? [];
    const type = list ?? map ?? one;
    if (number === undefined || name === undefined || type === undefined) throw new Error(`no field: "${line}"`);
    fields.set(Number(number), {
      name,
      type,
      many: list !== undefined ? 'list' : map !== undefined ? 'map' : 'one',
      zero: mark === '?' ? 'set' : mark === '!' ? 'kept' : 'omitted',
    });
  }
  return fields;
}

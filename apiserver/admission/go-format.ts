/*
 * Values as Kubernetes' messages show them. Its server prints with Go's fmt, and clients' tests and people's search
 * engines know those forms.
 */

/** The JSON type of a value as schemas name it; whole numbers are integers. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'bigint':
      return 'integer';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'number';
    default:
      return typeof value;
  }
}

/** `%T`: int64, map[string]interface {}, … */
export function goType(value: unknown): string {
  switch (typeName(value)) {
    case 'null':
      return '<nil>';
    case 'array':
      return '[]interface {}';
    case 'object':
      return 'map[string]interface {}';
    case 'integer':
      return 'int64';
    case 'number':
      return 'float64';
    case 'boolean':
      return 'bool';
    default:
      return 'string';
  }
}

/** `%v`: [a map[k:1]]. */
export function goPlain(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPlain).join(' ')}]`;
  if (typeof value === 'object') return `map[${sorted(value, (k, v) => `${k}:${goPlain(v)}`).join(' ')}]`;
  return typeof value === 'number' ? goNumber(value) : String(value);
}

/** `%#v`: []interface {}{"a", map[string]interface {}{"k":1}}. */
export function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (typeof value === 'object') {
    return `map[string]interface {}{${sorted(value, (k, v) => `${goQuote(k)}:${goSyntax(v)}`).join(', ')}}`;
  }
  if (typeof value === 'string') return goQuote(value);
  return goPlain(value);
}

/** The value in `Invalid value: …`: scalars plain, strings quoted, the rest in Go syntax. */
export function shownValue(value: unknown): string {
  return value === null || value === undefined ? '"null"' : goSyntax(value);
}

/** `%q`. */
export function goQuote(text: string): string {
  return `"${[...text].map(quotedRune).join('')}"`;
}

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

function quotedRune(rune: string): string {
  const short = SHORT[rune];
  if (short !== undefined) return short;
  const point = rune.codePointAt(0) ?? 0;
  if (point < 0x20 || point === 0x7f) return `\\x${point.toString(16).padStart(2, '0')}`;
  const printable = rune === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(rune);
  if (printable) return rune;
  return point > 0xffff ? `\\U${point.toString(16).padStart(8, '0')}` : `\\u${point.toString(16).padStart(4, '0')}`;
}

/** Go writes large and small floats with an exponent of at least two digits. */
function goNumber(value: number): string {
  const text = Number.isInteger(value) && Math.abs(value) < 1e21 ? value.toFixed(0) : String(value);
  return text.replace(/e([+-])([0-9])$/, 'e$10$2');
}

function sorted<T>(object: object, show: (key: string, value: unknown) => T): T[] {
  return Object.entries(object)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, v]) => show(k, v));
}

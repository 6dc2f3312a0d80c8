/** A number that a double would change, or that is written as a fraction: kept as its text. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Fields = Record<string, unknown>;

export function fieldsOf(value: unknown): Fields | undefined {
  const isFields =
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
  return isFields ? (value as Fields) : undefined;
}

/** Parses JSON with 1, 1.0 and integers of any size told apart. */
export function parseExact(text: string): unknown {
  const exact = (_: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number') return value;
    const source = context?.source ?? String(value);
    if (/^-?\d+$/.test(source)) return Number.isSafeInteger(value) ? value : new ExactNumber(source);
    const written = String(value);
    return new ExactNumber(/[.e]/.test(written) ? written : `${written}.0`);
  };
  return JSON.parse(text, exact);
}

/** JSON text; with `sorted` the same text for everything that is the same. */
export function dumps(value: unknown, sorted = true): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => dumps(item, sorted)).join(', ')}]`;
  const fields = fieldsOf(value);
  if (fields === undefined) return JSON.stringify(value ?? null);
  const keys = sorted ? Object.keys(fields).sort() : Object.keys(fields);
  return `{${keys.map((key) => `${JSON.stringify(key)}: ${dumps(fields[key], sorted)}`).join(', ')}}`;
}

export const same = (a: unknown, b: unknown): boolean => dumps(a) === dumps(b);

/** What is at a path such as `items[0].metadata.name`, or at one given name by name; null where there is nothing. */
export function dig(value: unknown, path: unknown): unknown {
  const parts = Array.isArray(path) ? path.map(String) : (String(path).match(/[^.[\]]+/g) ?? []);
  let at = value;
  for (const part of parts) {
    const fields = fieldsOf(at) ?? {};
    const next = Array.isArray(at) ? at.at(Number(part)) : Object.hasOwn(fields, part) ? fields[part] : undefined;
    if (next === undefined) return null;
    at = next;
  }
  return at;
}

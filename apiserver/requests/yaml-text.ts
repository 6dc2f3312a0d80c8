import { isObject } from '../../resources/meta/object.ts';

/** A value of JSON as YAML: keys sorted, text quoted wherever any reader of YAML might take it for something else. */
export function yamlText(value: unknown): string {
  const lines = linesOf(value);
  return lines === undefined ? `${scalar(value)}\n` : `${lines.join('\n')}\n`;
}

/** The lines of an object or list that has something in it. */
function linesOf(value: unknown): string[] | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.flatMap(itemLines);
  if (!isObject(value)) return undefined;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  if (fields.length === 0) return undefined;
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return fields.flatMap(([name, field]) => fieldLines(name, field));
}

function itemLines(item: unknown): string[] {
  const lines = linesOf(item);
  if (lines === undefined) return [`- ${scalar(item)}`];
  return lines.map((line, i) => (i === 0 ? `- ${line}` : `  ${line}`));
}

function fieldLines(name: string, field: unknown): string[] {
  const lines = linesOf(field);
  if (lines === undefined) return [`${text(name)}: ${scalar(field)}`];
  // Lists stand under their name without a further step to the right.
  return [`${text(name)}:`, ...lines.map((line) => (Array.isArray(field) ? line : `  ${line}`))];
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return '[]';
  if (typeof value === 'object' && value !== null) return '{}';
  return String(value);
}

const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./-]*(?::[A-Za-z0-9_./-]+)*(?: [A-Za-z0-9_./()-]+)*$/;
/** What YAML 1.1 or 1.2 reads as a boolean, null or number. */
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

const text = (value: string): string => (PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value));

import { Duration } from '@marcbachmann/cel-js/evaluator';
import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { isFormat } from './string-formats.ts';

/** Names CEL keeps for itself; a property so named is `__name__` in rules. */
const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const PLAIN = /^[A-Za-z][A-Za-z0-9]*$/;

/** Names are asked for with every object: those of schemas are few, those of maps may be many. */
const names = new Map<string, string | undefined>();
const MOST_NAMES = 4_096;

/** A property's name in rules, or undefined when rules cannot name it. */
export function celName(property: string): string | undefined {
  const known = names.get(property);
  if (known !== undefined) return known;
  const name = nameOf(property);
  if (names.size < MOST_NAMES) names.set(property, name);
  return name;
}

function nameOf(property: string): string | undefined {
  if (PLAIN.test(property) && !RESERVED.has(property)) return property;
  if (RESERVED.has(property)) return `__${property}__`;
  const name = property
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : undefined;
}

/** A JSON value as rules see it: integers as BigInt, instants and durations as such, properties under their names in rules. */
export function celValue(value: unknown, schema: Schema | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => celValue(item, schema?.items));
  if (isObject(value)) return celObject(value, schema);
  if (typeof value === 'number') return celNumber(value, schema);
  if (typeof value === 'bigint') return schema?.type === 'number' ? Number(value) : value;
  return typeof value === 'string' ? celString(value, schema?.format) : value;
}

/** Without a prototype, `has(self.constructor)` asks only for fields. Made by a constructor, it is as fast as any other object. */
class Fields {
  [name: string]: unknown;
}
Object.setPrototypeOf(Fields.prototype, null);
Reflect.deleteProperty(Fields.prototype, 'constructor');

function celObject(value: Readonly<Record<string, unknown>>, schema: Schema | undefined): Record<string, unknown> {
  const fields: Record<string, unknown> = new Fields();
  for (const name of Object.keys(value)) {
    const field = value[name];
    const known =
      schema?.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (known !== undefined) fields[celName(name) ?? name] = celValue(field, known);
    else
      fields[name] = celValue(field, isObject(schema?.additionalProperties) ? schema.additionalProperties : undefined);
  }
  return fields;
}

function celNumber(value: number, schema: Schema | undefined): number | bigint {
  return schema?.type !== 'number' && Number.isInteger(value) ? BigInt(value) : value;
}

/** What stood before a format was asked for may not have it: then it is the text it is. */
function celString(text: string, format: string | undefined): unknown {
  switch (format) {
    case 'date-time':
    case 'date':
      return new Date(text);
    case 'duration':
      return durationOf(text) ?? text;
    case 'byte':
      return isFormat('byte', text) ? Uint8Array.from(atob(text), (c) => c.charCodeAt(0)) : text;
    default:
      return text;
  }
}

const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
  w: 604_800_000_000_000n,
};
/** Longer texts name no duration that fits; their numbers are long to compute with. */
const MAX_DURATION_LENGTH = 128;

function durationOf(text: string): Duration | undefined {
  if (text.length > MAX_DURATION_LENGTH || !isFormat('duration', text)) return undefined;
  let nanos = 0n;
  for (const [, whole = '0', fraction = '', unit = ''] of text.matchAll(/([0-9]+)(?:\.([0-9]+))?([a-zµ]+)/g)) {
    const worth = NANOSECONDS[unit] ?? 0n;
    nanos += BigInt(whole) * worth + (BigInt(fraction || '0') * worth) / 10n ** BigInt(fraction.length);
  }
  const signed = text.startsWith('-') ? -nanos : nanos;
  return new Duration(signed / 1_000_000_000n, Number(signed % 1_000_000_000n));
}

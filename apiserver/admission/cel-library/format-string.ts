import { Duration } from '@marcbachmann/cel-js/evaluator';
import { isObject } from '../../../resources/meta/object.ts';

const CLAUSE = /%(?:(%)|(?:\.([0-9]{1,3}))?([sdfebxXo])|)/g;
const MAX_PRECISION = 100;

/** A text with its clauses replaced by the arguments (cel-go/ext, `format`): `%s %d %f %e %b %x %X %o %%`. Throws when they do not fit. */
export function formatString(text: string, args: readonly unknown[]): string {
  let next = 0;
  return text.replace(
    CLAUSE,
    (clause, percent: string | undefined, precision: string | undefined, verb: string | undefined) => {
      if (percent !== undefined) return '%';
      if (verb === undefined)
        throw new Error(`could not parse formatting clause: unrecognized clause ${JSON.stringify(clause)}`);
      if (next >= args.length) throw new Error(`index ${next} out of range`);
      const digits = precision === undefined ? undefined : Number(precision);
      if (digits !== undefined && digits > MAX_PRECISION)
        throw new Error(`a precision may be ${MAX_PRECISION} at most`);
      return formatOne(verb, args[next++], digits);
    },
  );
}

function formatOne(verb: string, value: unknown, precision: number | undefined): string {
  switch (verb) {
    case 's':
      return shown(value, false);
    case 'd':
      return typeof value === 'number' && !Number.isFinite(value) ? shown(value, false) : String(whole(verb, value));
    case 'f':
    case 'e':
      return decimal(verb, value, precision ?? 6);
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : whole(verb, value).toString(2);
    case 'o':
      return whole(verb, value).toString(8);
    case 'x':
      return hex(verb, value);
    default:
      return hex(verb, value).toUpperCase();
  }
}

function whole(verb: string, value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (isUnsigned(value)) return value.value;
  throw new Error(`error during formatting: %${verb} takes integers only`);
}

/** An unsigned integer of the evaluator. */
const isUnsigned = (value: unknown): value is { readonly value: bigint } =>
  isObject(value) && typeof (value as { readonly value?: unknown }).value === 'bigint';

function decimal(verb: 'f' | 'e', value: unknown, precision: number): string {
  if (typeof value !== 'number' && typeof value !== 'bigint' && !isUnsigned(value)) {
    throw new Error(`error during formatting: %${verb} takes numbers only`);
  }
  const number = Number(isUnsigned(value) ? value.value : value);
  if (!Number.isFinite(number)) return shown(number, false);
  if (verb === 'f') return Math.abs(number) < 1e21 ? number.toFixed(precision) : BigInt(number).toString();
  return number.toExponential(precision).replace(/e([+-])([0-9])$/, 'e$10$2');
}

function hex(verb: string, value: unknown): string {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return whole(verb, value).toString(16);
}

/** A value as `%s` shows it; strings within lists and maps are quoted. */
function shown(value: unknown, quoted: boolean): string {
  if (typeof value === 'string') return quoted ? JSON.stringify(value) : value;
  if (value === null) return 'null';
  if (typeof value === 'number')
    return value === Infinity ? 'Infinity' : value === -Infinity ? '-Infinity' : String(value);
  if (value instanceof Date) return value.toISOString().replace('.000Z', 'Z');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (value instanceof Duration) return value.toString();
  if (Array.isArray(value)) return `[${value.map((item) => shown(item, true)).join(', ')}]`;
  if (isPlain(value)) {
    const fields = Object.keys(value)
      .sort()
      .map((name) => `${JSON.stringify(name)}: ${shown(value[name], true)}`);
    return `{${fields.join(', ')}}`;
  }
  return String(value);
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

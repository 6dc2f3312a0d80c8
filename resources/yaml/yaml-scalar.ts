import { canonicalBase64, decodeBase64 } from '../meta/base64.ts';
import { YamlError } from './yaml-error.ts';
import { type ScalarNode, STANDARD_PREFIX } from './yaml-nodes.ts';

/*
 * What a scalar stands for, as Kubernetes' programs have it (sigs.k8s.io/yaml, which is go-yaml 2): YAML 1.1 without its numbers to base
 * sixty and without times, and with numbers as Go reads them.
 */

type ScalarType = 'str' | 'bool' | 'int' | 'float' | 'null' | 'timestamp';

export interface Scalar {
  readonly type: ScalarType;
  /** Integers are numbers where these are exact, else BigInt, up to 64 bits with or without a sign. */
  readonly value: string | number | bigint | boolean | null;
}

/** Throws YamlError where a tag promises what the text is not. */
export function resolveScalar({ text, tag, plain, line }: ScalarNode): Scalar {
  if (tag === '') return plain ? byLooks(text) : { type: 'str', value: text };
  if (tag === BINARY) return { type: 'str', value: binaryText(text, line) };
  const wanted = TAGS.get(tag);
  // Tags nobody knows say nothing, as the program that would know them is another.
  if (wanted === undefined || wanted === 'str') return { type: 'str', value: text };
  if (wanted === 'timestamp' && TIMESTAMP.test(text)) return { type: 'str', value: text };
  const found = byLooks(text);
  if (found.type === wanted) return found;
  if (wanted === 'float' && found.type === 'int' && !isUnsigned(found.value))
    return { type: 'float', value: Number(found.value) };
  throw new YamlError(`cannot decode !!${found.type} \`${text}\` as a !!${wanted}`, line);
}

/** An integer that only 64 bits without a sign hold. */
export const isUnsigned = (value: Scalar['value']): value is bigint => typeof value === 'bigint' && value >= INT64;

const BINARY = `${STANDARD_PREFIX}binary`;
const TYPES: readonly ScalarType[] = ['str', 'bool', 'int', 'float', 'null', 'timestamp'];
const TAGS: ReadonlyMap<string, ScalarType> = new Map(TYPES.map((type) => [STANDARD_PREFIX + type, type]));
const TIMESTAMP =
  /^\d{4}-\d\d?-\d\d?(?:[Tt]\d\d?:\d\d?:\d\d?(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)| \d\d?:\d\d?:\d\d?(?:\.\d+)?)?$/;

function binaryText(text: string, line: number): string {
  const read = canonicalBase64(text);
  if ('wrongAt' in read) throw new YamlError('!!binary value contains invalid base64 data', line);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(decodeBase64(read.text));
}

const scalars = (value: Scalar['value'], type: ScalarType, words: string): [string, Scalar][] =>
  words.split(' ').map((word) => [word, { type, value }]);

const WORDS: ReadonlyMap<string, Scalar> = new Map([
  ...scalars(true, 'bool', 'y Y yes Yes YES true True TRUE on On ON'),
  ...scalars(false, 'bool', 'n N no No NO false False FALSE off Off OFF'),
  ...scalars(null, 'null', '~ null Null NULL'),
  ...scalars(Number.NaN, 'float', '.nan .NaN .NAN'),
  ...scalars(Number.POSITIVE_INFINITY, 'float', '.inf .Inf .INF +.inf +.Inf +.INF'),
  ...scalars(Number.NEGATIVE_INFINITY, 'float', '-.inf -.Inf -.INF'),
  ['', { type: 'null', value: null }],
]);

/** Only these may be something else than text, so that most text is not looked at further. */
const HINT = /^[-+.~0-9yYnNtTfFoO]/;
const POINT_FIRST = /^\.\d(?:_?\d)*(?:[eE][-+]?\d(?:_?\d)*)?$/;
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

/** Nearly all numbers that are written. */
const SMALL = /^(?:0|[1-9]\d{0,14})$/;

function byLooks(text: string): Scalar {
  const asText: Scalar = { type: 'str', value: text };
  if (text !== '' && !HINT.test(text)) return asText;
  if (SMALL.test(text)) return { type: 'int', value: Number(text) };
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (text.startsWith('.')) return (POINT_FIRST.test(text) ? float(text) : undefined) ?? asText;
  if (!/^[-+\d]/.test(text)) return asText;
  const digits = text.replaceAll('_', '');
  return integer(digits) ?? (FLOAT.test(digits) ? float(digits) : undefined) ?? signedBinary(digits) ?? asText;
}

/** What is too large for a number is none. */
function float(text: string): Scalar | undefined {
  const value = Number(text.replaceAll('_', ''));
  return Number.isFinite(value) ? { type: 'float', value } : undefined;
}

const INTEGER = /^([-+]?)(?:0[xX]([\da-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(\d|[1-9]\d*))$/;
const INT64 = 2n ** 63n;
const UINT64 = 2n ** 64n;
/** As many digits as 64 bits have to base two: what has more is too large, and need not be computed. */
const MAX_DIGITS = 64;

function integer(text: string): Scalar | undefined {
  const [, sign = '', hex, binary, octal, decimal] = INTEGER.exec(text) ?? [];
  if (hex !== undefined) return signed(sign, '0x', hex);
  if (binary !== undefined) return signed(sign, '0b', binary);
  if (octal !== undefined) return signed(sign, '0o', octal);
  return decimal === undefined ? undefined : signed(sign, '', decimal);
}

function signed(sign: string, prefix: string, all: string): Scalar | undefined {
  const digits = all.replace(/^0+(?=.)/, '');
  if (digits.length > MAX_DIGITS) return undefined;
  const size = BigInt(prefix + digits);
  // A sign makes it 63 bits, a plus too.
  if (size > (sign === '-' ? INT64 : sign === '+' ? INT64 - 1n : UINT64 - 1n)) return undefined;
  const exact = sign === '-' ? -size : size;
  const value = Number(exact);
  return { type: 'int', value: Number.isSafeInteger(value) ? value : exact };
}

/** Go's reader of binary numbers takes the sign behind the prefix, too. */
function signedBinary(text: string): Scalar | undefined {
  const [, sign = '', digits] = /^0b([-+])([01]+)$/.exec(text) ?? [];
  return digits === undefined ? undefined : signed(sign, '0b', digits);
}

import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { oddText, oddValue } from './odd-values.ts';
import type { Random } from './random.ts';

interface Spot {
  readonly holder: JsonObject | unknown[];
  readonly key: string | number;
}

/** A copy of a value with some of it changed: members gone, renamed, added, of another type, twice, swapped, deep. */
export function malformValue(random: Random, value: unknown, changes = 1 + random.below(3)): unknown {
  const root: unknown[] = [structuredClone(value)];
  for (let i = 0; i < changes; i++) {
    const spots = spotsIn(root);
    change(random, random.pick(spots), spots);
  }
  return root[0];
}

function spotsIn(root: unknown[]): readonly Spot[] {
  const found: Spot[] = [];
  const visit = (holder: JsonObject | unknown[], key: string | number, depth: number) => {
    found.push({ holder, key });
    const inner = read({ holder, key });
    if (depth > 12 || found.length > 2_000) return;
    if (Array.isArray(inner)) for (const i of inner.keys()) visit(inner, i, depth + 1);
    else if (isObject(inner)) for (const name of Object.keys(inner)) visit(inner, name, depth + 1);
  };
  visit(root, 0, 0);
  return found;
}

const read = ({ holder, key }: Spot): unknown => (holder as Record<string | number, unknown>)[key];

function write({ holder, key }: Spot, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, writable: true, configurable: true });
}

function change(random: Random, spot: Spot, spots: readonly Spot[]): void {
  const value = read(spot);
  const dice = random.below(7);
  if (dice === 0) {
    if (!Array.isArray(spot.holder)) delete spot.holder[spot.key];
  } else if (dice === 1) {
    const holder = isObject(value) ? value : Array.isArray(spot.holder) ? {} : spot.holder;
    write({ holder, key: oddText(random) }, oddValue(random));
  } else {
    write(spot, replacement(random, dice, value, spots));
  }
}

const MOST_ITEMS = 2_000;

function replacement(random: Random, dice: number, value: unknown, spots: readonly Spot[]): unknown {
  if (dice === 2) return structuredClone(read(random.pick(spots)));
  if (dice === 3 && !Array.isArray(value)) return [value];
  if (dice === 3) {
    const times = random.pick([2, 3, 33, 300]);
    return Array.from({ length: times }, () => value)
      .flat()
      .slice(0, MOST_ITEMS);
  }
  if (dice === 4 && typeof value === 'string') return malformText(random, value);
  return oddValue(random);
}

function malformText(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  return random.one(
    () => text.slice(0, at),
    () => text.slice(0, at) + oddText(random) + text.slice(at),
    () => text.toUpperCase(),
    () => `${text} `,
    () => text.repeat(1 + random.below(20)).slice(0, 5_000),
  );
}

const RAW_VALUES: readonly string[] = [
  '9007199254740993',
  '18446744073709551616',
  '-9223372036854775809',
  '1e999',
  '-1e-999',
  '01',
  '+1',
  '.5',
  '1.',
  '0x10',
  'NaN',
  'Infinity',
  'undefined',
  '"\\ud800"',
  '"\\u0000"',
  '"\\x"',
  '"\\u12"',
  "'a'",
  '"\u0001"',
  '"a',
  '[1,]',
  '{"a":1,"a":2}',
  '{"a":1,}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{a:1}',
  '/*x*/1',
  '[1 2]',
  '1'.repeat(400),
  '[]]',
];

/** JSON of a value, often with something in the text that JSON has not, or that its readers differ about. */
export function jsonText(random: Random, value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  if (!random.oneIn(3)) return text;
  const places = [...text.matchAll(/[:[,]/g)].map(({ index }) => index + 1);
  const at = places.length === 0 ? 0 : random.pick(places);
  return random.one(
    () => text.slice(0, random.below(text.length + 1)),
    () => text.slice(0, at) + random.pick(RAW_VALUES) + text.slice(at),
    () => text.slice(0, at) + random.pick(RAW_VALUES) + text.slice(at).replace(/^[^,}\]]*/, ''),
    () => text.replace('{', `{${random.pick(['"metadata":{},', '"kind":"X",', '"spec":null,', '"":1,', ','])}`),
    () => text + random.pick([' ', '\n', 'x', '{}', '\0', '}', ']', '\u00a0']),
    () => `\ufeff${text}`,
    () => text.replaceAll(',', `${random.pick([' ', '\n', '\t', '\v', '\u00a0'])},`),
    () => '['.repeat(random.pick([10, 600, 100_000])) + text,
    () => `${'{"a":'.repeat(random.pick([10, 511, 600, 20_000]))}1`,
    () => text.replaceAll('"', random.pick(["'", '\\"', '""'])),
  );
}

/** Bytes with some of them changed. */
export function malformBytes(random: Random, bytes: Uint8Array, changes = 1 + random.below(4)): Buffer {
  let result = Buffer.from(bytes);
  for (let i = 0; i < changes; i++) {
    const at = random.below(result.length + 1);
    const to = Math.min(result.length, at + random.below(8));
    const middle = random.one(
      () => Buffer.alloc(0),
      () => random.bytes(1 + random.below(6)),
      () => Buffer.from([random.pick([0x00, 0x7f, 0x80, 0xc0, 0xed, 0xff, 0x22, 0x5c, 0x7b, 0x0a])]),
      () => Buffer.concat([result.subarray(at, to), result.subarray(at, to)]),
    );
    result = Buffer.concat([result.subarray(0, at), middle, result.subarray(to)]);
  }
  return result;
}

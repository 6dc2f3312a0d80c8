import type { Random } from './random.ts';

/** Text that readers of text stumble over. */
const ODD_TEXTS: readonly string[] = [
  '',
  ' ',
  'a',
  'b',
  'default',
  'UPPER',
  '0',
  '-1',
  'true',
  'null',
  '~',
  '-',
  '.',
  '..',
  '*',
  '$',
  '/',
  'a/b',
  'a.b/c',
  '%2e%2e',
  '\u0000',
  'a\u0000b',
  '\n',
  'a\r\nx-injected: 1',
  '\u2028',
  '\ufeff',
  '\ufffd',
  '\ud800',
  'a\udc00',
  'ключ',
  '👩‍👩‍👧‍👦',
  '\u0301\u0301',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'length',
  '{.spec}',
  '[?(@.a=="b")]',
  '$(x)',
  'x'.repeat(64),
  'x'.repeat(254),
  `${'a.'.repeat(130)}a`,
  'x'.repeat(70_000),
  '99999999999999999999',
  '1e999',
  'NaN',
  '-0',
  '4Gi',
  '1Ki1',
  '8h',
  '-8h',
  '1e9Gi',
  '2026-01-01T00:00:00Z',
  '2026-02-30T25:61:61Z',
  '0000-00-00T00:00:00.000000000000000000001Z',
];

const NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  1.5,
  255,
  256,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  2 ** 63,
  1e21,
  1e308,
  5e-324,
  0.1 + 0.2,
];

export function oddText(random: Random): string {
  if (random.oneIn(12))
    return Array.from({ length: random.below(12) }, () => String.fromCharCode(random.below(0x300))).join('');
  const text = random.pick(ODD_TEXTS);
  // The very long one is for now and then only.
  return text.length > 1000 && !random.oneIn(8) ? 'x' : text;
}

/** A value of any type; `depth` says how deep it may be yet. */
export function oddValue(random: Random, depth = 2): unknown {
  switch (random.below(depth > 0 ? 9 : 6)) {
    case 0:
      return null;
    case 1:
      return random.oneIn(2);
    case 2:
    case 3:
      return random.pick(NUMBERS);
    case 6:
      return Array.from({ length: random.below(4) }, () => oddValue(random, depth - 1));
    case 7:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [oddText(random), oddValue(random, depth - 1)]),
      );
    case 8:
      return nested(random.pick([3, 50, 99, 101, 511, 513]), random);
    default:
      return oddText(random);
  }
}

/** Lists in lists, or objects in objects. */
function nested(depth: number, random: Random): unknown {
  const inList = random.oneIn(2);
  let value: unknown = random.pick<unknown>([1, 'a', null, {}]);
  for (let i = 0; i < depth; i++) value = inList ? [value] : { a: value };
  return value;
}

import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { encodeJson, parseJson, parseJsonBytes, parseOwnJson } from '../../../resources/meta/json.ts';
import { readJson } from '../../../resources/meta/json-reader.ts';
import { JsonSyntaxError } from '../../../resources/meta/json-syntax-error.ts';
import { isObject } from '../../../resources/meta/object.ts';

const anyJson = fc.jsonValue({ maxDepth: 5 });
const withSpaces = fc
  .tuple(anyJson, fc.constantFrom('', ' ', '\t', 2))
  .map(([value, indent]) => JSON.stringify(value, null, indent));

/** What JSON.parse makes of a text; undefined where it fails or a number is out of range. */
function native(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return /Infinity/.test(inspect(value, { depth: null })) ? undefined : { value };
  } catch {
    return undefined;
  }
}

/** With BigInts as the numbers that JSON.parse takes them for. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, rounded(field)]));
}

describe('parsing JSON', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(withSpaces, (text) => {
        for (const { value, duplicates } of [parseJson(text), readJson(text, 512)]) {
          assert.deepEqual({ value: rounded(value), duplicates }, { value: JSON.parse(text), duplicates: [] });
        }
      }),
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const junk = fc.constantFrom('', '"', '{', ']', ',', ':', '0', '\\', 'x', 'e9');
    const broken = fc.tuple(withSpaces, fc.nat(), junk).map(([text, at, piece]) => {
      const cut = at % (text.length + 1);
      return text.slice(0, cut) + piece + text.slice(cut + 1);
    });
    fc.assert(
      fc.property(broken, (text) => {
        const want = native(text);
        if (want === undefined) assert.throws(() => parseJson(text), { name: 'JsonSyntaxError' });
        else assert.deepEqual(rounded(parseJson(text).value), want.value);
      }),
      { numRuns: 500 },
    );
  });

  const duplicates: [string, string[]][] = [
    ['{"spec":{"color":1,"color":2}}', ['spec.color']],
    ['{"spec":{"parts":[{"name":"a","name":"b"},{"name":1}]}}', ['spec.parts[0].name']],
    ['{"a":1,"a":2,"a":3}', ['a']],
    ['{"a":{"x":1},"b":{"x":1}}', []],
    ['{"a":"\\"a\\":1","b":"{\\\\"}', []],
    ['{"a":1,"\\u0061":2}', ['a']],
  ];
  for (const [text, paths] of duplicates) {
    it(`finds ${paths.join() || 'nothing'} twice in ${text}`, () => {
      assert.deepEqual(parseJson(text).duplicates, paths);
    });
  }

  it('lets the last of repeated members count', () => {
    assert.deepEqual(parseJson('{"a":{"b":1},"a":2}').value, { a: 2 });
  });

  it('keeps integers of 64 bits exactly, and writes them again', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (n) => {
        const { value } = parseJson(`{"n":${n}}`);
        const safe = BigInt(Number(n)) === n && Number.isSafeInteger(Number(n));
        assert.deepEqual(value, { n: safe ? Number(n) : n });
        assert.equal(encodeJson(value), `{"n":${n}}`);
      }),
    );
  });

  it('reads larger and fractional numbers as doubles', () => {
    assert.deepEqual(parseJson('[9223372036854775808, 1e3, 0.12345678901234567890, -0]').value, [
      2 ** 63,
      1000,
      0.12345678901234568,
      -0,
    ]);
  });

  it('takes __proto__ for a field like any other', () => {
    for (const text of ['{"__proto__":{"admin":true}}', '{"__proto__":{"admin":true},"n":12345678901234567}']) {
      const { value } = parseJson(text);
      assert.equal(Reflect.get(Object(value), 'admin'), undefined);
      assert.equal(encodeJson(value), text);
    }
  });

  const errors: [string, string][] = [
    ['', 'unexpected end of JSON input'],
    ['{"spec":{"size":', 'unexpected end of JSON input'],
    ['x', "invalid character 'x' looking for beginning of value"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{"a":1x', "invalid character 'x' after object key:value pair"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['[1 2]', "invalid character '2' after array element"],
    ['{} {}', "invalid character '{' after top-level value"],
    ['trux', "invalid character 'x' in literal true (expecting 'e')"],
    ['"\n"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1e999', 'cannot unmarshal number 1e999 into Go value of type float64'],
  ];
  for (const [text, message] of errors) {
    it(`says of ${JSON.stringify(text)}: ${message}`, () => {
      assert.throws(() => parseJson(text), { name: 'JsonSyntaxError', message });
    });
  }

  it('refuses depth beyond the limit, however deep', () => {
    assert.deepEqual(parseJson('[[[]]]', { maxDepth: 3 }).value, [[[]]]);
    assert.throws(() => parseJson('[[[[]]]]', { maxDepth: 3 }), { message: 'exceeded max depth' });
    assert.throws(() => parseJson('['.repeat(1_000_000)), { message: 'exceeded max depth' });
    assert.throws(() => parseJson('{"a":'.repeat(100_000)), { message: 'exceeded max depth' });
  });

  it('refuses bytes that are not UTF-8', () => {
    assert.deepEqual(parseJsonBytes(new TextEncoder().encode('{"é":1}')).value, { é: 1 });
    assert.throws(() => parseJsonBytes(Uint8Array.from([0x22, 0xff, 0x22])), { name: 'JsonSyntaxError' });
  });
});

describe('writing JSON', () => {
  it('throws on circular values as JSON.stringify does', () => {
    const loop: unknown[] = [];
    loop.push(loop, 1n);
    assert.throws(() => encodeJson(loop), TypeError);
  });
});

describe('JSON of our own', () => {
  const numbers = fc.oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  );
  const odd = fc.constantFrom(',123456789012345678', ':1e5', '[-1.5E9', '{"a":1e400}');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      numbers,
      fc.string(),
      odd,
      fc.boolean(),
      fc.constant(null),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(fc.oneof(fc.string(), odd), tie('value'), { maxKeys: 4 }),
  }));

  it('reads as the careful reader reads it', () => {
    fc.assert(
      fc.property(value, (held) => {
        const text = encodeJson({ held });
        assert.deepEqual(parseOwnJson(text), parseJson(text).value);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps integers that no double holds', () => {
    for (const n of [2n ** 53n, -(2n ** 53n), 9007199254740993n, 2n ** 63n - 1n, -(2n ** 63n)])
      assert.deepEqual(parseOwnJson(encodeJson({ a: [n], b: n })), { a: [n], b: n });
  });

  it('that is none is refused in the words of the reader', () => {
    assert.throws(() => parseOwnJson('{"a":'), JsonSyntaxError);
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { parseYaml, YamlError } from '../../../apiserver/requests/yaml.ts';
import { encodeJson } from '../../../resources/meta/json.ts';

const value = (text: string) => parseYaml(text).value;

/** Where YAML 1.1, which kubectl reads files by before it sends JSON, and YAML 1.2, which this server reads, differ. */
const DIFFERENCES: Readonly<Record<string, unknown>> = {
  yes: 'yes',
  No: 'No',
  on: 'on',
  OFF: 'OFF',
  y: 'y',
  n: 'n',
  '010': 10,
  '0o17': 15,
  '0b11': '0b11',
  '1_000': '1_000',
  '12:30': '12:30',
  '1:30:00': '1:30:00',
  '2026-01-02': '2026-01-02',
  '1e3': 1000,
};

describe('YAML bodies', () => {
  it('are what their JSON would be', () => {
    const text = 'a: 1\nb: [x, "2", 3.5, true, null, ~]\nc:\n  d: |\n    two\n    lines\n';
    assert.deepEqual(value(text), { a: 1, b: ['x', '2', 3.5, true, null, null], c: { d: 'two\nlines\n' } });
    assert.deepEqual(value('{"a": {"b": [1, "x"]}}'), { a: { b: [1, 'x'] } });
  });

  for (const [text, read] of Object.entries(DIFFERENCES)) {
    it(`read ${text} by YAML 1.2`, () => assert.deepEqual(value(`a: ${text}`), { a: read }));
  }

  it('have no merge keys: << is a name like any other', () => {
    assert.deepEqual(value('a: {<<: {b: 1}}'), { a: { '<<': { b: 1 } } });
  });

  it('keep every digit of a 64-bit integer', () => {
    assert.deepEqual(value('a: 9223372036854775807\nb: -9223372036854775808\nc: 0x7fffffffffffffff'), {
      a: 2n ** 63n - 1n,
      b: -(2n ** 63n),
      c: 2n ** 63n - 1n,
    });
    assert.deepEqual(value('a: 9223372036854775808'), { a: 2 ** 63 });
  });

  it('tell of members given twice, by their path; the last one counts', () => {
    const { value: read, duplicates } = parseYaml('a: 1\na: 2\nb: {c: 1, d: 2, c: 3}\nl:\n- x: 1\n  x: 2\n');
    assert.deepEqual(read, { a: 2, b: { c: 3, d: 2 }, l: [{ x: 2 }] });
    assert.deepEqual(duplicates, ['a', 'b.c', 'l[0].x']);
    assert.deepEqual(parseYaml('1: a\n"1": b\n').duplicates, ['1']);
  });

  it('may use anchors, up to a hundred aliases and what they stand for', () => {
    assert.deepEqual(value('a: &x {b: 1}\nc: *x'), { a: { b: 1 }, c: { b: 1 } });
    const aliases = (count: number) => `a: &x 1\nl: [${Array.from({ length: count }, () => '*x').join(', ')}]`;
    assert.equal((value(aliases(100)) as { l: unknown[] }).l.length, 100);
    assert.throws(() => value(aliases(101)), YamlError);
    const doubled = Array.from({ length: 40 }, (_, i) => `x${i + 1}: &x${i + 1} [*x${i}, *x${i}]`);
    assert.throws(() => value(['x0: &x0 [1]', ...doubled].join('\n')), /aliases stand for more/);
    const long = `a: &x ${'t'.repeat(1 << 20)}\nl: [*x, *x, *x]`;
    assert.throws(() => value(long), /aliases stand for more/);
  });

  it('do not reach into what objects inherit', () => {
    const read = value('__proto__: {polluted: 1}\nconstructor: x') as object;
    assert.deepEqual(Object.keys(read), ['__proto__', 'constructor']);
    assert.equal(Object.getPrototypeOf(read), Object.prototype);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });

  for (const text of [
    '',
    '---\na: 1\n---\nb: 2',
    'a: [',
    '\ta: 1',
    '? [a]\n: 1',
    'a: .inf',
    'a: .nan',
    'a: !!binary aGk=',
    'a: !x 1',
    'a: *nothing',
    `${'['.repeat(200)}`,
  ]) {
    it(`are refused when they are ${JSON.stringify(text.slice(0, 30))}`, () =>
      assert.throws(() => parseYaml(text), YamlError));
  }

  it('read back what is written, and answer or refuse whatever comes', () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(json, (object) => {
        const plain = JSON.parse(JSON.stringify({ a: object })) as object;
        assert.deepEqual(JSON.parse(encodeJson(value(dump(plain)))), plain);
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'a:-[]{}&*!|>\'"%@`,?#\n \t0.~<'), maxLength: 40 }), (text) => {
        try {
          parseYaml(text);
        } catch (error) {
          assert.ok(error instanceof YamlError, String(error));
        }
      }),
      { numRuns: 3_000 },
    );
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { MOST_NODES, parseYaml } from '../../../apiserver/requests/yaml.ts';
import { encodeJson } from '../../../resources/meta/json.ts';
import { YamlError } from '../../../resources/yaml/yaml-error.ts';

const value = (text: string) => parseYaml(text).value;

describe('YAML bodies', () => {
  it('are what their JSON would be', () => {
    const text = 'a: 1\nb: [x, "2", 3.5, true, null, ~]\nc:\n  d: |\n    two\n    lines\n';
    assert.deepEqual(value(text), { a: 1, b: ['x', '2', 3.5, true, null, null], c: { d: 'two\nlines\n' } });
    assert.deepEqual(value('{"a": {"b": [1, "x"]}}'), { a: { b: [1, 'x'] } });
  });

  it('keep every digit of a 64-bit integer', () => {
    assert.deepEqual(value('a: 9223372036854775807\nb: -9223372036854775808\nc: 0x7fffffffffffffff'), {
      a: 2n ** 63n - 1n,
      b: -(2n ** 63n),
      c: 2n ** 63n - 1n,
    });
    assert.deepEqual(value('a: 9223372036854775808'), { a: 2 ** 63 });
  });

  it('tell of members given twice as a real server does, by the line of the value; the last one counts', () => {
    const { value: read, duplicates } = parseYaml('a: 1\na: 2\nb: {c: 1, d: 2, c: 3}\nl:\n- x: 1\n  x:\n    - 2\n');
    assert.deepEqual(read, { a: 2, b: { c: 3, d: 2 }, l: [{ x: [2] }] });
    const lines = [2, 3, 7].map((line, i) => `  line ${line}: key "${'acx'[i]}" already set in map`);
    assert.deepEqual(duplicates, [`yaml: unmarshal errors:\n${lines.join('\n')}`]);
    assert.match(parseYaml('1: a\n"1": b\n').duplicates.join(), /line 2: key "1" already/);
    assert.match(parseYaml('y: a\non: b\n').duplicates.join(), /line 2: key true already/);
    assert.deepEqual(parseYaml('a: 1\nb: {a: 1}\n').duplicates, []);
  });

  it('tell of what a merge key brings beside a field of that name, and whichever comes later counts', () => {
    const explicitLast = parseYaml('x: &x {a: 1}\nz:\n  <<: *x\n  a: 2\n');
    assert.deepEqual(explicitLast.value, { x: { a: 1 }, z: { a: 2 } });
    assert.match(explicitLast.duplicates.join(), /\n {2}line 4: key "a" already set in map$/);
    const mergedLast = parseYaml('x: &x {a: 1}\nz:\n  a: 2\n  <<: *x\n');
    assert.deepEqual(mergedLast.value, { x: { a: 1 }, z: { a: 1 } });
    assert.match(mergedLast.duplicates.join(), /\n {2}line 1: key "a" already set in map$/);
  });

  it('of several documents the first counts, and none says null', () => {
    assert.deepEqual(value('---\na: 1\n---\nb: *nothing'), { a: 1 });
    assert.deepEqual([value(''), value('# nothing\n')], [null, null]);
  });

  it('are not read beyond the first document, whatever follows', () => {
    assert.deepEqual(value('a: 1\n---\nb: ['), { a: 1 });
    assert.deepEqual(value('a: 1\n...\n- ]'), { a: 1 });
    assert.equal(value('---\n---\na: 1'), null);
  });

  it('have up to two hundred thousand values, however they are written', () => {
    const list = (item: string, count: number) => `[${item.repeat(count)}]`;
    assert.equal((value(list('1,', MOST_NODES - 10)) as unknown[]).length, MOST_NODES - 10);
    const over = /there are more than 200000 values$/;
    assert.throws(() => value(list('1,', MOST_NODES)), over);
    assert.throws(() => value(list('[],', MOST_NODES)), over);
    assert.throws(() => value('- \n'.repeat(2 * MOST_NODES)), over);
    assert.throws(() => value('? a\n'.repeat(MOST_NODES)), over);
    assert.throws(() => value(`a: 1\n`.repeat(MOST_NODES)), over);
    const long = `a: |\n${'  - {a: 1, b: [2]}\n'.repeat(50_000)}`;
    assert.equal((value(long) as { a: string }).a.length, 17 * 50_000);
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
    'a: [',
    '\ta: 1',
    '? [a]\n: 1',
    'a: .inf',
    'a: .nan',
    'a: !!binary a',
    'a: !!int x',
    'a: !x b: c',
    '~: 1',
    '18446744073709551615: 1',
    '<<: 1',
    'a: &a [1]\n<<: *a',
    'a: &a [*a]',
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

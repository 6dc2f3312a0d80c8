import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseJsonPath, valuesAt } from '../../../apiserver/table/json-path.ts';

const OBJECT = {
  metadata: { annotations: { 'a.b/c': 'dotted', "it's": 'quoted' } },
  spec: { size: 'small', parts: [{ name: 'wheel', count: 4 }, { name: 'seat', count: 1 }, { name: 'bell' }] },
  status: {
    conditions: [
      { type: 'Scheduled', status: 'True' },
      { type: 'Ready', status: 'False', reason: 'Waiting' },
    ],
    ratio: null,
  },
};

function at(text: string): readonly unknown[] {
  const path = parseJsonPath(text);
  assert.ok(path, `${text} is a path`);
  return valuesAt(path, OBJECT);
}

describe('JSON paths of printer columns', () => {
  const found: readonly [path: string, values: readonly unknown[]][] = [
    ['.spec.size', ['small']],
    ['$.spec.size', ['small']],
    ["['spec']['size']", ['small']],
    ['.spec["size"]', ['small']],
    ['.spec.parts[0].name', ['wheel']],
    ['.spec.parts[-1].name', ['bell']],
    ['.spec.parts[*].name', ['wheel', 'seat', 'bell']],
    ['.spec.parts[*].count', [4, 1]],
    ['.status.conditions[?(@.type=="Ready")].status', ['False']],
    [".status.conditions[?(@.type == 'Ready')].reason", ['Waiting']],
    ['.status.conditions[?(@.type!="Ready")].type', ['Scheduled']],
    ['.spec.parts[?(@.count>1)].name', ['wheel']],
    ['.spec.parts[?(@.count>=1)].name', ['wheel', 'seat']],
    ['.spec.parts[?(@.count<4)].name', ['seat']],
    ['.spec.parts[?(@.count<=4)].name', ['wheel', 'seat']],
    ['.spec.parts[?(@.count)].name', ['wheel', 'seat']],
    ['.spec.parts[?("wheel"==@.name)].count', [4]],
    ['.metadata.annotations.a\\.b/c', ['dotted']],
    [".metadata.annotations['a.b/c']", ['dotted']],
    ["['metadata'].annotations['it\\'s']", ['quoted']],
    ['.metadata.annotations.*', ['dotted', 'quoted']],
    ['.status.ratio', [null]],
    ['.spec.nothing.here', []],
    ['.spec.size.deeper', []],
    ['.spec.parts[9]', []],
    ['.spec.parts[-9]', []],
    ['.spec.parts.name', []],
    ['.status.conditions[?(@.type=="Gone")].status', []],
    ['.spec[?(@.a=="b")]', []],
    ['.__proto__', []],
    ['.constructor.name', []],
  ];
  for (const [path, values] of found) {
    it(`finds ${JSON.stringify(values)} at ${path}`, () => assert.deepEqual(at(path), values));
  }

  for (const text of [
    '',
    '$',
    'spec',
    '.',
    '.a..b',
    '.a[',
    '.a[x]',
    '.a[?(@.b=]',
    '.a[?(@.b=="c")',
    ".a['b",
    '.a b',
    '{.a}',
    '.a[1:2]',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseJsonPath(text), undefined));
  }

  it('refuses a path longer than anyone writes', () => {
    assert.ok(parseJsonPath(`.${'a'.repeat(999)}`));
    assert.equal(parseJsonPath(`.${'a'.repeat(1000)}`), undefined);
  });

  const fieldName = fc.string({ minLength: 1, maxLength: 12 }).filter((name) => name !== '__proto__');
  const quote = (name: string) => `['${name.replace(/[\\']/g, '\\$&')}']`;
  const escaped = (name: string) => `.${name.replace(/[^a-zA-Z0-9]/g, '\\$&')}`;

  it('leads to the leaf it was built for, in either spelling', () => {
    const step = fc.oneof(
      fieldName.map((name) => ({
        text: quote(name),
        wrap: (value: unknown): unknown => ({ [name]: value, ' ': 'decoy' }),
        name,
      })),
      fieldName
        .filter((name) => !/[\n\r\u2028\u2029\ud800-\udfff]/.test(name))
        .map((name) => ({ text: escaped(name), wrap: (value: unknown): unknown => ({ [name]: value }), name })),
      fc
        .nat({ max: 5 })
        .map((n) => ({ text: `[${n}]`, wrap: (value: unknown): unknown => [...Array(n).fill(0), value], name: '' })),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), fc.jsonValue(), (steps, leaf) => {
        fc.pre(steps.every((one) => one.name !== ' '));
        const path = parseJsonPath(steps.map((one) => one.text).join(''));
        assert.ok(path);
        const root = steps.reduceRight<unknown>((value, one) => one.wrap(value), leaf);
        assert.deepEqual(valuesAt(path, root), [leaf]);
      }),
    );
  });

  it('never throws, whatever the text and whatever the object', () => {
    const words = ['.', '[', ']', '?(', ')', '@', '*', "'", '"', '\\', '==', '<', 'a', 'name', '0', '-1', 'true', ' '];
    const text = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom(...words), { maxLength: 30 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, fc.jsonValue(), (path, object) => {
        const parsed = parseJsonPath(path);
        if (parsed !== undefined) assert.ok(Array.isArray(valuesAt(parsed, object)));
      }),
      { numRuns: 500 },
    );
  });
});

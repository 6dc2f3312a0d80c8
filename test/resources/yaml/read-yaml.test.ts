import assert from 'node:assert/strict';
import { parseJson } from '../../../resources/meta/json.ts';
import { readYaml } from '../../../resources/yaml/read-yaml.ts';
import { YamlError } from '../../../resources/yaml/yaml-error.ts';
import { READ, REFUSED } from './kubectl-table.ts';

/** What the first document says; nothing says null. */
function firstOf(text: string): unknown {
  const [document] = readYaml(text);
  return document === undefined ? null : document.value;
}

describe('YAML, as kubectl reads it', () => {
  for (const [yaml, json] of READ) {
    it(`has ${JSON.stringify(yaml)} for ${json}`, () => {
      assert.deepEqual(firstOf(yaml), parseJson(json).value);
    });
  }

  for (const yaml of REFUSED) {
    it(`has no ${JSON.stringify(yaml)}`, () => assert.throws(() => firstOf(yaml), YamlError));
  }

  it('has no two values that are the same object', () => {
    const { x, z } = firstOf('x: &x {a: [1]}\nz: *x\n') as { x: { a: unknown[] }; z: { a: unknown[] } };
    assert.notEqual(x.a, z.a);
    assert.deepEqual(x, z);
  });

  it('tells where repeated keys stand, and which of them came by a merge', () => {
    const [document] = readYaml('a: 1\na:\n  - 2\nb:\n  <<: {c: 1}\n  c: 2\n  c: 3\n');
    assert.deepEqual(document?.repeated, [
      { key: 'a', line: 2, valueLine: 3, merged: false },
      { key: 'c', line: 6, valueLine: 6, merged: true },
      { key: 'c', line: 7, valueLine: 7, merged: false },
    ]);
  });

  for (const [what, line, text] of [
    ['grammar', 2, 'a: 1\nb: ]\n'],
    ['an unknown anchor', 2, 'a: 1\nb: *x\n'],
    ['a tag that lies', 3, 'a:\n  - 1\n  - !!int x\n'],
    ['a merge of no object', 2, 'a: 1\n<<: 3\n'],
    ['a key that is a list', 2, 'a: 1\n? [b]\n: 1\n'],
    ['a block of what it is not', 2, 'a: 1\nb: !!int |\n  x\n'],
  ] as const) {
    it(`tells of ${what} by its line`, () => {
      assert.throws(
        () => firstOf(text),
        (error) => error instanceof YamlError && error.line === line,
      );
    });
  }
});

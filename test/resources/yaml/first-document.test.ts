import assert from 'node:assert/strict';
import fc from 'fast-check';
import { firstDocument } from '../../../resources/yaml/first-document.ts';
import { readYaml } from '../../../resources/yaml/read-yaml.ts';

describe('the first document of a YAML text', () => {
  for (const [text, first] of [
    ['a: 1\n', 'a: 1\n'],
    ['a: 1\n---\nb: [', 'a: 1\n'],
    ['a: 1\n...\n? {', 'a: 1\n'],
    ['---\na: 1\n--- b\n', '---\na: 1\n'],
    ['---\n---\na: 1\n', '---\n'],
    ['--- a\n---', '--- a\n'],
    ['# x\n\n%YAML 1.1\n---\na: 1\n---\n', '# x\n\n%YAML 1.1\n---\na: 1\n'],
    ['...\n...\n---\na: 1\n...\nb', '...\n...\n---\na: 1\n'],
    ['\uFEFF\r\n---\r\na: 1\r\n---\r\n', '\uFEFF\r\n---\r\na: 1\r\n'],
    ['a: |\n  x\n  ---\n  y\n', 'a: |\n  x\n  ---\n  y\n'],
    ['---a: 1\n----\n', '---a: 1\n----\n'],
    ['a: x\u2028---\nb: 1', 'a: x\u2028---\nb: 1'],
  ] as const) {
    it(`of ${JSON.stringify(text)} is ${JSON.stringify(first)}`, () => assert.equal(firstDocument(text), first));
  }

  it('says what it says among the others', () => {
    const pieces = ['---\n', '...\n', '# c\n', 'a: 1\n', '- b\n', '  c\n', '"x\n', 'y"\n', 'z: |\n', '\n', '--- d\n'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (parts) => {
        const text = parts.join('');
        const whole = read(text);
        if (whole !== undefined) assert.deepEqual(read(firstDocument(text))?.[0], whole[0], JSON.stringify(text));
      }),
      { numRuns: 3_000 },
    );
  });
});

function read(text: string): readonly unknown[] | undefined {
  try {
    return [...readYaml(text)].map(({ value }) => value);
  } catch {
    return undefined;
  }
}

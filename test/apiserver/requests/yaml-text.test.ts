import assert from 'node:assert/strict';
import fc from 'fast-check';
import { load, YAML11_SCHEMA } from 'js-yaml';
import { parseYaml } from '../../../apiserver/requests/yaml.ts';
import { yamlText } from '../../../apiserver/requests/yaml-text.ts';

const RISKY = fc.constantFrom(
  'y',
  'No',
  'on',
  '010',
  '0x1f',
  '1_000',
  '12:30',
  '2026-01-02',
  '~',
  'null',
  '=',
  '<<',
  'a: b',
  'a #b',
  '- a',
  ' a',
  'a ',
  '',
  '1e3',
  '.5',
  '*a',
  '&a',
  '!a',
  'a:b',
  'a\nb',
  '\u2028',
  'é',
);
const text = fc.oneof(RISKY, fc.string());
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.boolean(), fc.constant(null), tie('list'), tie('map')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  map: fc.dictionary(
    text.filter((name) => name !== '__proto__'),
    tie('value'),
    { maxKeys: 4, noNullPrototype: true },
  ),
})).value;

describe('YAML that is answered', () => {
  it('is written as kubectl writes it', () => {
    const value = { b: [1, { c: 'x', a: null }, []], a: { z: {}, y: 'yes', t: 'two words' }, big: 2n ** 62n };
    const lines = [
      'a:',
      '  t: two words',
      '  "y": "yes"',
      '  z: {}',
      'b:',
      '- 1',
      '- a: null',
      '  c: x',
      '- []',
      'big: 4611686018427387904',
    ];
    assert.equal(yamlText(value), `${lines.join('\n')}\n`);
  });

  it('says the same to readers of YAML 1.2, of YAML 1.1 and to kubectl', () => {
    fc.assert(
      fc.property(json, (value) => {
        const written = yamlText(value);
        assert.deepEqual(parseYaml(written).value, value);
        assert.deepEqual(load(written), value);
        assert.deepEqual(load(written, { schema: YAML11_SCHEMA }), value);
      }),
    );
  });
});

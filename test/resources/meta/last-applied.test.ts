import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { readObjects } from '../../../cli/yaml/documents.ts';
import { goJson } from '../../../resources/meta/go-json.ts';
import { LAST_APPLIED, lastApplied, withLastApplied } from '../../../resources/meta/last-applied.ts';
import { isObject, valueAt } from '../../../resources/meta/object.ts';

const recorded: { cases: Record<string, { yaml: string; annotation: string }> } = JSON.parse(
  readFileSync(new URL('kubectl-last-applied.json', import.meta.url), 'utf8'),
);

describe('the last-applied annotation', () => {
  for (const [name, { yaml, annotation }] of Object.entries(recorded.cases)) {
    it(`is what kubectl writes, byte for byte: ${name}`, () => {
      const [read] = readObjects('recorded.yaml', Buffer.from(yaml));
      assert(read !== undefined);
      // Both fill in the namespace of the context before they record.
      const { object } = read;
      const namespace = annotation.includes('"namespace":"demo"') ? { namespace: 'demo' } : {};
      const placed = { ...object, metadata: { ...object.metadata, ...namespace } };
      assert.equal(valueAt(withLastApplied(placed), ['metadata', 'annotations', LAST_APPLIED]), annotation);
    });
  }

  it('reads back as the object that was applied, without the record itself', () => {
    const object = { kind: 'VM', metadata: { name: 'a', annotations: { k: 'v', [LAST_APPLIED]: 'old' } } };
    const back = lastApplied(withLastApplied(object));
    assert.deepEqual(back, { kind: 'VM', metadata: { name: 'a', annotations: { k: 'v' } } });
  });

  it('takes a record that cannot be read as none', () => {
    assert.equal(lastApplied({ metadata: { annotations: { [LAST_APPLIED]: '{broken' } } }), undefined);
    assert.equal(lastApplied({ metadata: { annotations: { [LAST_APPLIED]: '[1]' } } }), undefined);
  });

  it('writes JSON that means the same, whatever the object', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = goJson(value);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
        assert.doesNotMatch(text, /[<>&\u2028\u2029]/);
      }),
    );
  });

  it('orders keys by code point, not by UTF-16 unit and not by number', () => {
    assert.equal(
      goJson({ '\u{1F600}': 1, '\uffff': 2, b: 3, '10': 4, '9': 5 }),
      '{"10":4,"9":5,"b":3,"\uffff":2,"\u{1F600}":1}',
    );
    assert(isObject(JSON.parse(goJson({}))));
  });
});

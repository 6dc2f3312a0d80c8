import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseFieldSelector } from '../../../apiserver/selectors/field-selector.ts';
import { Event } from '../../../resources/kinds/event.ts';

const kind = { selectableFields: ['status.phase', 'spec.count', 'reason'] };
const object = { metadata: { name: 'a', namespace: 'n' }, status: { phase: 'Ready' }, spec: { count: 3 } };

describe('field selectors', () => {
  const cases: [string, boolean][] = [
    ['', true],
    ['metadata.name=a', true],
    ['metadata.name==a,metadata.namespace=n', true],
    ['metadata.name!=a', false],
    ['status.phase!=Failed', true],
    ['spec.count=3', true],
    ['reason=', true],
    ['reason!=x', true],
    ['metadata.name=a,,status.phase=Ready', true],
  ];
  for (const [text, want] of cases) {
    it(`${JSON.stringify(text)} ${want ? 'matches' : 'does not match'}`, () => {
      assert.equal(parseFieldSelector(text, kind).matches(object), want);
    });
  }

  it('of an event by its source mean the component, or who reports where there is none', () => {
    const matches = (event: object) => parseFieldSelector('source=placement', Event).matches({ ...event });
    assert.ok(matches({ source: { component: 'placement' }, reportingComponent: 'other' }));
    assert.ok(matches({ reportingComponent: 'placement' }));
    assert.ok(!matches({ source: { component: 'other' }, reportingComponent: 'placement' }));
  });

  it('name the one object they can match', () => {
    assert.equal(parseFieldSelector('metadata.name=x,status.phase=Ready', kind).exact('metadata.name'), 'x');
    assert.equal(parseFieldSelector('metadata.name!=x', kind).exact('metadata.name'), undefined);
  });

  it('read escaped values as they were', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const escaped = value.replace(/[\\,=]/g, '\\$&');
        const { requirements } = parseFieldSelector(`metadata.namespace=n,reason!=${escaped}`, kind);
        assert.deepEqual(requirements[1], { field: 'reason', operator: '!=', value });
      }),
    );
  });

  const errors: [string, RegExp][] = [
    ['spec.size=small', /^field label not supported: spec.size$/],
    ['metadata.name', /^invalid selector: 'metadata.name'; can't understand 'metadata.name'$/],
    ['reason=a=b', /unescaped character in field selector value: '='/],
    ['reason=a\\b', /invalid escape sequence: \\b/],
  ];
  for (const [text, message] of errors) {
    it(`refuse ${text}`, () => assert.throws(() => parseFieldSelector(text, kind), { reason: 'BadRequest', message }));
  }
});

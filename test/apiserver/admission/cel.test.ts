import assert from 'node:assert/strict';
import { KindCompileError } from '../../../apiserver/admission/kind-compile-error.ts';
import { parseJson } from '../../../resources/meta/json.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import type { Schema, ValidationRule } from '../../../resources/meta/schema.ts';
import { compileRules } from './compile-rules.ts';

const SPEC: Schema = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    max: { type: 'integer' },
    ratio: { type: 'number' },
    name: { type: 'string' },
    note: { type: 'string', nullable: true },
    port: { 'x-kubernetes-int-or-string': true },
    at: { type: 'string', format: 'date-time' },
    ttl: { type: 'string', format: 'duration' },
    'my-key': { type: 'string' },
    namespace: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'integer' } },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    owner: { type: 'object', properties: { name: { type: 'string' } } },
    parts: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', properties: { name: { type: 'string' }, count: { type: 'integer' } } },
    },
    any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};

const ruled = (rule: ValidationRule): Schema => ({
  type: 'object',
  properties: { spec: { ...SPEC, 'x-kubernetes-validations': [rule] } },
});

function sayings(rule: ValidationRule, spec: JsonObject, oldSpec?: JsonObject): string[] {
  const rules = compileRules(ruled(rule));
  assert.ok(rules !== undefined);
  const causes = rules({ spec }, oldSpec === undefined ? undefined : { spec: oldSpec });
  return causes.map((cause) => `${cause.field}: ${cause.message}`);
}

describe('rules', () => {
  const cases: [string, JsonObject, boolean][] = [
    ['self.count <= self.max', { count: 1, max: 2 }, true],
    ['self.count <= self.max', { count: 3, max: 2 }, false],
    ['self.count == 4611686018427387904', { count: 2n ** 62n }, true],
    ['self.ratio > 2', { ratio: 3 }, true],
    ['self.ratio + 0.5 > 3.0', { ratio: 3 }, true],
    ['!has(self.owner) || has(self.owner.name)', { owner: {} }, false],
    ['has(self.name)', {}, false],
    ['self.?name.orValue("x") == "x"', {}, true],
    ['self.note == null || self.note == "y"', { note: null }, true],
    ['type(self.port) == string || self.port > 1024', { port: 80 }, false],
    ['self.at > timestamp("2020-01-01T00:00:00Z")', { at: '2026-01-01T00:00:00Z' }, true],
    ['self.ttl >= duration("1h")', { ttl: '90m' }, true],
    ['self.my__dash__key == "x" && self.__namespace__ == "y"', { 'my-key': 'x', namespace: 'y' }, true],
    ['self.tags.all(t, t.startsWith("a"))', { tags: ['a', 'ab'] }, true],
    ['self.tags.exists(t, t == "b")', { tags: ['a'] }, false],
    [
      'self.parts.filter(p, p.count > 1).map(p, p.name) == ["b"]',
      {
        parts: [
          { name: 'a', count: 1 },
          { name: 'b', count: 2 },
        ],
      },
      true,
    ],
    ['"k" in self.labels && self.labels["k"] == "v"', { labels: { k: 'v' } }, true],
    ['self.labels.all(k, self.labels[k].size() < 3)', { labels: { k: 'long' } }, false],
    ['self.name.matches("^a+$") && matches(self.name, "a")', { name: 'aaa' }, true],
    ['self.name.replace("a", "b") == "bc" && self.name.find("[a-z]") == "a"', { name: 'ac' }, true],
    ['self.sizes.isSorted() && self.sizes.sum() == 6 && self.sizes.max() == 3', { sizes: [1, 2, 3] }, true],
    ['cel.bind(n, size(self.tags), n == 1 || n == 2)', { tags: ['a', 'b'] }, true],
    ['self.any.deep.value == 3', { any: { deep: { value: 3 } } }, true],
    ['has(self.any.constructor)', { any: {} }, false],
  ];
  for (const [rule, spec, holds] of cases) {
    it(`${rule} ${holds ? 'holds' : 'does not hold'} of ${JSON.stringify(spec, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))}`, () => {
      assert.deepEqual(sayings({ rule, message: 'no' }, spec), holds ? [] : ['spec: Invalid value: "object": no']);
    });
  }

  it('see a field named __proto__ as a field', () => {
    const { value: any } = parseJson('{"__proto__":{"admin":true}}');
    assert.deepEqual(sayings({ rule: 'size(self.any) == 1 && !has(self.any.admin)', message: 'no' }, { any }), []);
  });

  it('say the rule when they have no message, and what an expression says when it can', () => {
    assert.deepEqual(sayings({ rule: 'self.count > 3' }, { count: 1 }), [
      'spec: Invalid value: "object": failed rule: self.count > 3',
    ]);
    const spoken = { rule: 'self.count > 3', message: 'fixed', messageExpression: '"count is " + string(self.count)' };
    assert.deepEqual(sayings(spoken, { count: 1 }), ['spec: Invalid value: "object": count is 1']);
    const mute = { ...spoken, messageExpression: 'self.name' };
    assert.deepEqual(sayings(mute, { count: 1 }), ['spec: Invalid value: "object": fixed']);
  });

  it('have the reason and the place they ask for', () => {
    const rule = { rule: 'false', message: 'm', fieldPath: '.count', reason: 'FieldValueForbidden' };
    assert.deepEqual(sayings(rule, { count: 1 }), ['spec.count: Forbidden: m']);
    assert.deepEqual(sayings({ ...rule, reason: 'FieldValueRequired' }, {}), ['spec.count: Required value: m']);
  });

  it('say what failed when they cannot be evaluated', () => {
    assert.deepEqual(sayings({ rule: 'self.name == "x"', message: 'm' }, {}), [
      'spec: Invalid value: "object": No such key: name evaluating rule: m',
    ]);
  });

  it('about a change are silent on creation', () => {
    const rule = { rule: 'self.count >= oldSelf.count', message: 'may not shrink' };
    assert.deepEqual(sayings(rule, { count: 1 }), []);
    assert.deepEqual(sayings(rule, { count: 1 }, { count: 1 }), []);
    assert.deepEqual(sayings(rule, { count: 1 }, { count: 2 }), ['spec: Invalid value: "object": may not shrink']);
    assert.deepEqual(sayings({ rule: 'self == oldSelf', message: 'frozen' }, { tags: ['a'] }, { tags: ['b'] }), [
      'spec: Invalid value: "object": frozen',
    ]);
  });

  it('with an optional oldSelf hold on creation too', () => {
    const rule = {
      rule: 'oldSelf.hasValue() ? self.count >= oldSelf.value().count : self.count == 1',
      message: 'no',
      optionalOldSelf: true,
    };
    assert.deepEqual(sayings(rule, { count: 1 }), []);
    assert.deepEqual(sayings(rule, { count: 2 }), ['spec: Invalid value: "object": no']);
    assert.deepEqual(sayings(rule, { count: 2 }, { count: 1 }), []);
    assert.deepEqual(sayings(rule, { count: 0 }, { count: 1 }), ['spec: Invalid value: "object": no']);
    assert.deepEqual(sayings({ ...rule, rule: 'self.count == oldSelf.?count.orValue(7)' }, { count: 7 }), []);
  });

  it('read values that have not the format asked for now', () => {
    const rule = { rule: 'self.name != "" || oldSelf.name != ""', message: 'no' };
    const spec = { name: 'a', ttl: '1d', at: '2026-01-01T00:00:00Z' };
    assert.deepEqual(sayings(rule, spec, { name: 'b', ttl: 'soon', at: 'then' }), []);
    assert.deepEqual(sayings({ rule: 'self.ttl == duration("24h")', message: 'no' }, spec), []);
  });

  const apart: [string, ValidationRule, string][] = [
    ['x-kubernetes-validations[0].rule', { rule: 'self == oldSelf' }, 'uncorrelatable'],
    ['x-kubernetes-validations[0].rule', { rule: 'oldSelf.hasValue()', optionalOldSelf: true }, 'uncorrelatable'],
    ['x-kubernetes-validations[0].optionalOldSelf', { rule: 'self != ""', optionalOldSelf: true }, 'not used in rule'],
  ];
  for (const [place, rule, why] of apart) {
    it(`are refused in the items of a plain list: ${rule.rule}`, () => {
      const items: Schema = { type: 'string', 'x-kubernetes-validations': [rule] };
      assert.throws(
        () => compileRules({ type: 'object', properties: { list: { type: 'array', items } } }),
        (error) => {
          assert.ok(error instanceof KindCompileError);
          assert.equal(error.causes[0]?.field, `properties[list].items.${place}`);
          assert.match(error.message, new RegExp(why));
          return true;
        },
      );
    });
  }

  it('stand at any depth, and follow items by their keys', () => {
    const items: Schema = {
      ...SPEC.properties?.parts?.items,
      'x-kubernetes-validations': [{ rule: 'self.count >= oldSelf.count', message: 'shrank' }],
    };
    const parts: Schema = { ...SPEC.properties?.parts, items };
    const labels: Schema = {
      type: 'object',
      additionalProperties: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self != "bad"', message: 'bad' }] },
    };
    const rules = compileRules({
      type: 'object',
      properties: { spec: { type: 'object', properties: { parts, labels } } },
    });
    const causes = rules?.(
      {
        spec: {
          parts: [
            { name: 'b', count: 1 },
            { name: 'a', count: 1 },
            { name: 'new', count: 0 },
          ],
          labels: { x: 'bad' },
        },
      },
      {
        spec: {
          parts: [
            { name: 'a', count: 2 },
            { name: 'b', count: 1 },
          ],
        },
      },
    );
    assert.deepEqual(
      causes?.map((cause) => `${cause.field}: ${cause.message}`),
      ['spec.parts[1]: Invalid value: "object": shrank', 'spec.labels.x: Invalid value: "string": bad'],
    );
  });

  it('see name and type at the root', () => {
    const rules = compileRules({
      type: 'object',
      'x-kubernetes-validations': [{ rule: 'self.metadata.name == "only"', message: 'one' }],
    });
    assert.deepEqual(rules?.({ apiVersion: 'v1', kind: 'K', metadata: { name: 'only' } }), []);
    assert.equal(rules?.({ apiVersion: 'v1', kind: 'K', metadata: { name: 'other' } })[0]?.field, '<nil>');
  });

  it('are none where no schema has one', () => assert.equal(compileRules(SPEC), undefined));

  const broken: [string, RegExp][] = [
    ['self.nope == 1', /No such key: nope/],
    ['self.name == 1', /no such overload/],
    ['self.count +', /./],
    ['self.count', /must evaluate to bool, not int/],
    ['self.name.matches("(?=a)")', /./],
  ];
  for (const [rule, why] of broken) {
    it(`that do not compile are refused with their place: ${rule}`, () => {
      assert.throws(
        () => compileRules(ruled({ rule })),
        (error) => {
          assert.ok(error instanceof KindCompileError);
          const [cause] = error.causes;
          assert.equal(cause?.field, 'properties[spec].x-kubernetes-validations[0].rule');
          assert.match(cause.message, /compilation failed/);
          assert.match(cause.message, why);
          return true;
        },
      );
    });
  }
});

describe('the budget of rules', () => {
  const ENDLESS: readonly [string, JsonObject][] = [
    [
      'self.sizes.all(a, self.sizes.all(b, self.sizes.all(c, self.sizes.all(d, a + b + c + d >= 0))))',
      { sizes: Array(1000).fill(1) },
    ],
    [
      'self.sizes.exists(a, self.sizes.exists(b, self.sizes.exists(c, self.sizes.exists(d, a + b + c + d < 0))))',
      { sizes: Array(1000).fill(1) },
    ],
    ['self.sizes.map(a, self.sizes.map(b, self.sizes.map(c, a + b + c))).size() > 0', { sizes: Array(1000).fill(1) }],
    ['self.sizes.all(a, self.sizes == oldSelf.sizes)', { sizes: Array(20_000).fill(1) }],
    [
      'self.sizes.all(a, self.any == oldSelf.any)',
      { sizes: Array(2_000).fill(1), any: { x: [Array(2_000).fill({ y: 1 })] } },
    ],
    ['self.sizes.all(a, !(2 in self.sizes))', { sizes: Array(20_000).fill(1) }],
    [
      'self.sizes.all(a, self.name.matches("^(a+)+b$") || a == 1)',
      { sizes: Array(2_000).fill(1), name: 'a'.repeat(20_000) },
    ],
    [
      'self.sizes.all(a, self.name.contains("b") || a == 1)',
      { sizes: Array(20_000).fill(1), name: 'a'.repeat(100_000) },
    ],
    ['self.name.replace("", self.name).replace("", self.name) == ""', { name: 'a'.repeat(100_000) }],
  ];
  for (const [rule, spec] of ENDLESS) {
    it(`ends ${rule}`, () => {
      assert.deepEqual(sayings({ rule, message: 'm' }, spec, spec), [
        'spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
      ]);
    });
  }

  it('is anew for each object', () => {
    const rules = compileRules(ruled({ rule: 'self.sizes.all(a, a > 0)', message: 'm' }), { budget: 2_000 });
    for (let i = 0; i < 10; i++) assert.deepEqual(rules?.({ spec: { sizes: Array(50).fill(1) } }), []);
    assert.match(rules?.({ spec: { sizes: Array(400).fill(1) } })[0]?.message ?? '', /cost budget/);
  });
});

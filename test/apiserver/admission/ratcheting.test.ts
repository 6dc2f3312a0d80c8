import assert from 'node:assert/strict';
import { compileKindValidator } from '../../../apiserver/admission/validate.ts';
import { defineKind } from '../../../resources/meta/define-kind.ts';
import type { JsonObject, KubeObject } from '../../../resources/meta/object.ts';
import type { Schema } from '../../../resources/meta/schema.ts';

const small: Schema = { type: 'integer', maximum: 5 };
const SPEC: Schema = {
  type: 'object',
  required: ['must'],
  properties: {
    must: { type: 'string' },
    count: small,
    color: { type: 'string', enum: ['red'] },
    labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 2 } },
    parts: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, count: small, note: { type: 'string' } },
        'x-kubernetes-validations': [{ rule: '!has(self.note) || self.note != "bad"', message: 'a bad note' }],
      },
    },
    plain: { type: 'array', items: small },
    set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    pair: {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      allOf: [{ properties: { a: { maximum: 5 } } }],
      'x-kubernetes-validations': [
        { rule: '!has(self.b) || self.b < 10', message: 'b is too large' },
        { rule: 'self.a >= oldSelf.a', message: 'a shrank' },
      ],
    },
  },
};

const kindOf = (origin: 'user' | 'core') =>
  defineKind({
    group: 'example.com',
    version: 'v1',
    kind: 'Thing',
    plural: 'things',
    namespaced: false,
    origin,
    schema: { type: 'object', properties: { spec: SPEC } },
  });

const thing = (spec: JsonObject): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec,
});

const validate = compileKindValidator(kindOf('user'));

function fields(after: JsonObject, before?: JsonObject): (string | undefined)[] {
  const given = (spec: JsonObject) => thing({ must: 'x', ...spec });
  return validate(given(after), before && given(before)).map(({ field }) => field);
}

describe('an update of what was invalid already', () => {
  const LET: readonly [string, JsonObject, JsonObject][] = [
    ['a field that stays as it was', { count: 9, color: 'red' }, { count: 9 }],
    ['a word that is allowed no more', { color: 'blue', count: 1 }, { color: 'blue' }],
    ['an entry of a free map, beside a new one', { labels: { a: 'long', b: 'ok' } }, { labels: { a: 'long' } }],
    [
      'an item by its key, wherever it stands now',
      { parts: [{ name: 'b' }, { name: 'a', count: 9 }] },
      { parts: [{ name: 'a', count: 9 }] },
    ],
    [
      'a field of an item of which another field changed',
      { parts: [{ name: 'a', count: 9, note: 'new' }] },
      { parts: [{ name: 'a', count: 9 }] },
    ],
    [
      'an item whose rule fails',
      { parts: [{ name: 'a', note: 'bad' }], count: 1 },
      { parts: [{ name: 'a', note: 'bad' }] },
    ],
    ['a list as a whole', { plain: [9], count: 1 }, { plain: [9] }],
    ['items that are there twice already', { set: ['a', 'a', 'b'] }, { set: ['a', 'a'] }],
    ['a condition of a value that stays', { pair: { a: 9, b: 11 }, count: 2 }, { pair: { a: 9, b: 11 } }],
  ];
  for (const [what, after, before] of LET) {
    it(`lets through ${what}`, () => {
      assert.deepEqual(fields(after, before), []);
      assert.notDeepEqual(fields(after), [], 'it is refused when it is new');
    });
  }

  const KEPT: readonly [string, JsonObject, JsonObject, readonly string[]][] = [
    ['a field that changed', { count: 8 }, { count: 9 }, ['spec.count']],
    ['an entry that changed', { labels: { a: 'longer' } }, { labels: { a: 'long' } }, ['spec.labels.a', '<nil>']],
    [
      'an item that is new',
      { parts: [{ name: 'b', count: 9 }] },
      { parts: [{ name: 'a', count: 9 }] },
      ['spec.parts[0].count'],
    ],
    ['a list without keys that gained an item', { plain: [9, 1] }, { plain: [9] }, ['spec.plain[0]']],
    ['items that are there twice now', { set: ['a', 'a'] }, { set: ['a'] }, ['spec.set[1]']],
    [
      'a rule about a value of which a part changed',
      { pair: { a: 2, b: 11 } },
      { pair: { a: 1, b: 11 } },
      ['spec.pair'],
    ],
    ['a rule about the change itself', { pair: { a: 1 } }, { pair: { a: 2 } }, ['spec.pair']],
    ['a condition of a value of which a part changed', { pair: { a: 9, b: 1 } }, { pair: { a: 9 } }, ['spec.pair.a']],
  ];
  for (const [what, after, before, expected] of KEPT) {
    it(`refuses ${what}`, () => assert.deepEqual(fields(after, before), expected));
  }

  it('refuses a required field that is missing still when its object changed', () => {
    assert.deepEqual(
      validate(thing({ count: 1 }), thing({ count: 2 })).map(({ field }) => field),
      ['spec.must', '<nil>'],
    );
    assert.deepEqual(validate(thing({ count: 1 }), thing({ count: 1 })), []);
  });

  it("is held to everything for Kubernetes' own kinds", () => {
    const strict = compileKindValidator(kindOf('core'));
    const bad = thing({ must: 'x', count: 9 });
    assert.deepEqual(
      strict(bad, bad).map(({ field }) => field),
      ['spec.count'],
    );
  });
});

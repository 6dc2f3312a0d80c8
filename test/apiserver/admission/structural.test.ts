import assert from 'node:assert/strict';
import fc from 'fast-check';
import { applyDefaults, pruneUnknown } from '../../../apiserver/admission/structural.ts';
import { encodeJson, parseJson } from '../../../resources/meta/json.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import type { Schema } from '../../../resources/meta/schema.ts';
import { Widget } from './widget.ts';

/** Objects of the Widget's field names with values of any shape, deep-frozen so that a write to the input throws. */
const names = fc.constantFrom(
  'spec',
  'size',
  'parts',
  'name',
  'count',
  'labels',
  'anything',
  'port',
  'owner',
  'status',
  'bogus',
  '__proto__',
  'constructor',
);
const { value: wildValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 5 },
    fc.constantFrom<unknown>(null, 1, 'x', true, 2.5),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 5 }),
  ),
}));
const wildObject = fc
  .dictionary(names, wildValue, { maxKeys: 5 })
  .map((value) => frozen(parseJson(encodeJson(value)).value) as JsonObject);

function frozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

describe('pruning', () => {
  const cases: [string, Schema, JsonObject, JsonObject, string[]][] = [
    ['keeps declared fields', { properties: { a: { type: 'string' } } }, { a: 'x' }, { a: 'x' }, []],
    [
      'drops undeclared ones, and says where',
      { properties: { a: {} } },
      { c: 2, a: 'x', b: 1 },
      { a: 'x' },
      ['b', 'c'],
    ],
    [
      'looks into lists and maps',
      {
        properties: { l: { items: { properties: { a: {} } } }, m: { additionalProperties: { properties: { a: {} } } } },
      },
      { l: [{ a: 1, b: 2 }], m: { k: { a: 1, b: 2 } } },
      { l: [{ a: 1 }], m: { k: { a: 1 } } },
      ['l[0].b', 'm.k.b'],
    ],
    [
      'keeps everything under preserve-unknown-fields but prunes what is declared there',
      { properties: { p: { 'x-kubernetes-preserve-unknown-fields': true, properties: { q: { properties: {} } } } } },
      { p: { x: { y: 1 }, q: { z: 1 } } },
      { p: { x: { y: 1 }, q: {} } },
      ['p.q.z'],
    ],
    [
      'knows apiVersion, kind and the fields of metadata',
      {},
      {
        apiVersion: 'v1',
        kind: 'K',
        metadata: { name: 'x', foo: 1, ownerReferences: [{ uid: 'u', bar: 1 }], labels: { any: 'y' } },
      },
      { apiVersion: 'v1', kind: 'K', metadata: { name: 'x', ownerReferences: [{ uid: 'u' }], labels: { any: 'y' } } },
      ['metadata.foo', 'metadata.ownerReferences[0].bar'],
    ],
    [
      'knows the same of an embedded resource',
      { properties: { t: { 'x-kubernetes-embedded-resource': true, properties: { spec: {} } } } },
      { t: { apiVersion: 'v1', kind: 'K', metadata: { name: 'x', foo: 1 }, spec: 1, other: 2 } },
      { t: { apiVersion: 'v1', kind: 'K', metadata: { name: 'x' }, spec: 1 } },
      ['t.metadata.foo', 't.other'],
    ],
    [
      'does not take inherited names for declared',
      { properties: { a: {} } },
      { constructor: 1, toString: 2 },
      {},
      ['constructor', 'toString'],
    ],
    [
      'does not fail on values of another shape',
      { properties: { a: { type: 'string' } } },
      { a: [{ b: 1 }] },
      { a: [{}] },
      ['a[0].b'],
    ],
  ];
  for (const [claim, schema, given, object, unknown] of cases) {
    it(claim, () => {
      assert.deepEqual(pruneUnknown(frozen(given) as JsonObject, schema), { object, unknown });
    });
  }

  it('tells a thousand of what it drops, and counts the rest', () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, i]));
    const { unknown, untold, object } = pruneUnknown(
      { ...many(900), items: [many(150)] },
      { properties: { items: {} } },
    );
    assert.deepEqual([unknown.length, untold, object], [1000, 50, { items: [{}] }]);
    assert.deepEqual(unknown, unknown.toSorted());
    assert.equal('untold' in pruneUnknown(many(1000), {}), false);
  });

  it('finds nothing the second time, whatever the object', () => {
    fc.assert(
      fc.property(wildObject, (given) => {
        const once = pruneUnknown(given, Widget.schema);
        const twice = pruneUnknown(once.object, Widget.schema);
        assert.deepEqual(twice, { object: once.object, unknown: [] });
        assert.equal(twice.object, once.object);
      }),
    );
  });
});

describe('defaulting', () => {
  const schema: Schema = {
    properties: {
      spec: {
        default: {},
        properties: {
          size: { type: 'string', default: 'small' },
          none: { type: 'string', nullable: true, default: 'x' },
          plain: { type: 'string' },
          parts: { items: { properties: { count: { default: 1 } } } },
          map: { additionalProperties: { default: 5, properties: { count: { default: 1 } } } },
          list: { items: { default: 7 } },
        },
      },
    },
  };
  const cases: [string, JsonObject, JsonObject][] = [
    ['fills in what is absent, inside a default too', {}, { spec: { size: 'small', none: 'x' } }],
    ['keeps what is there', { spec: { size: 'big', none: 'y' } }, { spec: { size: 'big', none: 'y' } }],
    ['takes a null for absent', { spec: { size: null, plain: null } }, { spec: { size: 'small', none: 'x' } }],
    ['keeps a null where it is allowed', { spec: { none: null } }, { spec: { none: null, size: 'small' } }],
    [
      'reaches into lists',
      { spec: { none: 'y', size: 'b', parts: [{}, { count: 2 }, null] } },
      { spec: { none: 'y', size: 'b', parts: [{ count: 1 }, { count: 2 }, null] } },
    ],
    [
      'reaches into maps',
      { spec: { none: 'y', size: 'b', map: { a: {}, b: null } } },
      { spec: { none: 'y', size: 'b', map: { a: { count: 1 }, b: 5 } } },
    ],
    [
      'fills nulls in lists that have a default',
      { spec: { none: 'y', size: 'b', list: [null, 1] } },
      { spec: { none: 'y', size: 'b', list: [7, 1] } },
    ],
    [
      'makes no parent that has no default',
      { other: { a: 1 }, spec: { none: 'y', size: 'b' } },
      { other: { a: 1 }, spec: { none: 'y', size: 'b' } },
    ],
  ];
  for (const [claim, given, want] of cases) {
    it(claim, () => assert.deepEqual(applyDefaults(frozen(given) as JsonObject, schema), want));
  }

  it('gives every object its own copy of a default', () => {
    const shared = { list: [1] };
    const withDefault: Schema = { properties: { a: { default: shared } } };
    const one = applyDefaults<JsonObject>({}, withDefault);
    assert.deepEqual(one, { a: { list: [1] } });
    assert.notEqual(one.a, shared);
    assert.notEqual(one.a, applyDefaults<JsonObject>({}, withDefault).a);
  });

  it('changes nothing the second time, whatever the object', () => {
    fc.assert(
      fc.property(wildObject, (given) => {
        const once = applyDefaults(given, Widget.schema);
        assert.equal(applyDefaults(once, Widget.schema), once);
      }),
    );
  });
});

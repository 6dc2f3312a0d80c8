import assert from 'node:assert/strict';
import fc from 'fast-check';
import { applyStrategicMergePatch } from '../../../apiserver/patch/strategic-merge-patch.ts';
import { encodeJson } from '../../../resources/meta/json.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import type { Schema } from '../../../resources/meta/schema.ts';

const schema: Schema = {
  type: 'object',
  properties: {
    data: { type: 'object', additionalProperties: { type: 'string' } },
    ports: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        },
      },
    },
    plain: { type: 'array', items: { type: 'string' } },
  },
};
const owner = (uid: string, more: JsonObject = {}) => ({ uid, kind: 'K', ...more });
const finalizers = (...names: string[]) => ({ metadata: { finalizers: names } });

describe('strategic merge patch', () => {
  const cases: [string, JsonObject, JsonObject, JsonObject][] = [
    [
      'merges maps and deletes with null',
      { data: { a: '1', b: '2' } },
      { data: { a: null, c: '3' } },
      { data: { b: '2', c: '3' } },
    ],
    ['replaces lists that have no key', { plain: ['a', 'b'] }, { plain: ['c'] }, { plain: ['c'] }],
    [
      'merges lists by the key of the schema',
      { ports: [{ name: 'a', n: 1 }, { name: 'b' }] },
      { ports: [{ name: 'a', m: 2 }, { name: 'c' }] },
      { ports: [{ name: 'a', n: 1, m: 2 }, { name: 'c' }, { name: 'b' }] },
    ],
    [
      'merges sets inside items',
      { ports: [{ name: 'a', tags: ['x'] }] },
      { ports: [{ name: 'a', tags: ['x', 'y'] }] },
      { ports: [{ name: 'a', tags: ['x', 'y'] }] },
    ],
    [
      'deletes an item by its key',
      { ports: [{ name: 'a' }, { name: 'b' }] },
      { ports: [{ name: 'a', $patch: 'delete' }] },
      { ports: [{ name: 'b' }] },
    ],
    [
      'replaces a whole keyed list',
      { ports: [{ name: 'a' }, { name: 'b' }] },
      { ports: [{ $patch: 'replace' }, { name: 'c' }] },
      { ports: [{ name: 'c' }] },
    ],
    ['replaces a map', { data: { a: '1' } }, { data: { $patch: 'replace', b: '2' } }, { data: { b: '2' } }],
    ['deletes a map', { data: { a: '1' }, x: 1 }, { data: { $patch: 'delete' } }, { x: 1 }],
    [
      'knows that $patch: merge is what it does',
      { data: { a: '1' } },
      { data: { $patch: 'merge', b: '2' } },
      { data: { a: '1', b: '2' } },
    ],
    [
      'merges owners by uid',
      { metadata: { ownerReferences: [owner('1'), owner('2')] } },
      { metadata: { ownerReferences: [owner('2', { name: 'x' }), owner('3')] } },
      { metadata: { ownerReferences: [owner('1'), owner('2', { name: 'x' }), owner('3')] } },
    ],
    ['adds finalizers', finalizers('a'), finalizers('b', 'a'), finalizers('b', 'a')],
    [
      'removes finalizers by name',
      finalizers('a', 'b'),
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } },
      finalizers('b'),
    ],
    [
      'removes and adds at once',
      finalizers('a', 'b'),
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], finalizers: ['c'] } },
      finalizers('c', 'b'),
    ],
    ['puts what is new before what it does not name', finalizers('a', 'b'), finalizers('c'), finalizers('c', 'a', 'b')],
    [
      'orders a keyed list',
      { ports: [{ name: 'a' }, { name: 'b' }] },
      { '$setElementOrder/ports': [{ name: 'c' }, { name: 'b' }, { name: 'a' }], ports: [{ name: 'c' }] },
      { ports: [{ name: 'c' }, { name: 'b' }, { name: 'a' }] },
    ],
    [
      'orders a list it does not otherwise touch',
      finalizers('a', 'b'),
      { metadata: { '$setElementOrder/finalizers': ['b', 'a'] } },
      finalizers('b', 'a'),
    ],
    ['makes no list for an order alone', {}, { metadata: { '$setElementOrder/finalizers': ['b'] } }, { metadata: {} }],
    [
      'keeps only the fields $retainKeys lists',
      { data: { a: '1', b: '2' } },
      { data: { $retainKeys: ['b', 'c'], c: '3' } },
      { data: { b: '2', c: '3' } },
    ],
    [
      'stores no directive in new values',
      {},
      { ports: [{ name: 'n', deep: { $patch: 'replace', a: 1 } }], plain: [{ $patch: 'merge', a: 1 }] },
      { ports: [{ name: 'n', deep: { a: 1 } }], plain: [{ a: 1 }] },
    ],
  ];
  for (const [claim, target, patch, want] of cases) {
    it(claim, () => {
      const before = encodeJson([target, patch]);
      assert.deepEqual(applyStrategicMergePatch(target, patch, schema), want);
      assert.equal(encodeJson([target, patch]), before);
    });
  }

  const refused: [string, unknown][] = [
    ['is no object', []],
    ['has an unknown directive', { data: { $patch: 'frob' } }],
    ['has an item without its key', { ports: [{ n: 1 }] }],
    ['sets a field it does not retain', { data: { $retainKeys: ['a'], b: '1' } }],
    ['has an order that is no list', { '$setElementOrder/ports': 1, ports: [] }],
  ];
  for (const [claim, patch] of refused) {
    it(`that ${claim} is a BadRequest`, () => {
      assert.throws(() => applyStrategicMergePatch({ data: {} }, patch, schema), { reason: 'BadRequest' });
    });
  }

  it('does what a merge patch does where there are no lists and directives', () => {
    const values = fc.dictionary(fc.constantFrom('a', 'b'), fc.oneof(fc.string(), fc.constant(null)));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.string()), values, (data, patch) => {
        const merged = applyStrategicMergePatch({ data }, { data: patch }, schema);
        const want = Object.entries({ ...data, ...patch }).filter(([, value]) => value !== null);
        assert.deepEqual(merged, { data: Object.fromEntries(want) });
      }),
    );
  });
});

import assert from 'node:assert/strict';
import { EMPTY, setOf } from '../../../apiserver/apply/field-set.ts';
import { elementOf, ItemError, identified, itemElement } from '../../../apiserver/apply/list-items.ts';
import { mergeTypeOf } from '../../../apiserver/apply/merge-type.ts';
import { prune, withNamedFields } from '../../../apiserver/apply/prune.ts';
import { toFieldSet } from '../../../apiserver/apply/to-field-set.ts';
import type { Schema } from '../../../resources/meta/schema.ts';

const SCHEMA: Schema = {
  type: 'object',
  properties: {
    parts: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', properties: { name: { type: 'string' }, count: { type: 'integer' } } },
    },
  },
};
const TYPE = mergeTypeOf({ schema: SCHEMA });
const list = TYPE.map?.fields.get('parts')?.list ?? assert.fail('parts is no list');

describe('items of a list by keys', () => {
  it('are known by their keys; those that have none are left out, or told of where asked', () => {
    const seat = { name: 'seat', count: 1 };
    const none: readonly unknown[] = [null, { count: 1 }, 'seat'];
    assert.deepEqual(identified(list, [...none, seat]), [['k:{"name":"seat"}', seat]]);
    assert.equal(elementOf(list, seat), 'k:{"name":"seat"}');
    assert.equal(elementOf(list, {}), undefined);
    assert.throws(() => itemElement(list, {}), ItemError);
    assert.throws(() => itemElement(list, null), /may not have a null element/);
  });
});

describe('what an applier leaves to others', () => {
  const parts = { parts: [{ name: 'seat', count: 1 }, { name: 'horn' }] };
  const owned = toFieldSet(parts, TYPE);

  it('is the very same object when nothing is to go', () => {
    assert.equal(prune(parts, owned, owned, TYPE), parts);
    assert.equal(prune(parts, EMPTY, owned, TYPE), parts);
    const horn = setOf(['f:parts', 'k:{"name":"seat"}'], ['f:parts', 'k:{"name":"seat"}', 'f:name']);
    assert.notEqual(prune(parts, owned, horn, TYPE), parts);
  });

  it('names the fields that hold others, sharing all that is below them', () => {
    const named = withNamedFields(owned, TYPE);
    assert.equal(named.children.get('f:parts')?.member, true);
    const item = 'k:{"name":"seat"}';
    assert.equal(named.children.get('f:parts')?.children.get(item), owned.children.get('f:parts')?.children.get(item));
    assert.equal(withNamedFields(named, TYPE), named);
  });
});

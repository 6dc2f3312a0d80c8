import assert from 'node:assert/strict';
import {
  decodeFields,
  difference,
  encodeFields,
  has,
  intersection,
  pathsOf,
  setOf,
  union,
} from '../../../apiserver/apply/field-set.ts';
import { showPath } from '../../../apiserver/apply/path-element.ts';

describe('FieldsV1', () => {
  it('is read into one form, whatever the order and spaces of keys', () => {
    const fields = { 'f:l': { 'k:{"b": 1,"a":"x"}': { '.': {}, 'f:v': {} }, 'v:1.0': {}, 'i:2': {} } };
    const set = decodeFields(fields);
    assert.ok(set !== undefined);
    assert.deepEqual(encodeFields(set), {
      'f:l': { 'k:{"a":"x","b":1}': { '.': {}, 'f:v': {} }, 'v:1': {}, 'i:2': {} },
    });
    assert.ok(has(set, ['f:l', 'k:{"a":"x","b":1}']));
    assert.ok(!has(set, ['f:l']));
  });

  it('passes over steps of sorts to come, and is not read at all when it is broken', () => {
    assert.deepEqual(encodeFields(decodeFields({ 'z:new': {}, 'f:a': {} }) ?? setOf()), { 'f:a': {} });
    for (const broken of [null, [], { 'f:a': 1 }, { a: {} }, { 'k:[]': {} }, { 'v:{': {} }, { 'i:x': {} }])
      assert.equal(decodeFields(broken), undefined, JSON.stringify(broken));
  });

  it('tells paths with members first, fields before items, numbers by size', () => {
    const fields = { 'f:b': {}, 'f:a': { '.': {}, 'v:10': {}, 'v:9': {}, 'k:{"n":"x"}': {}, 'f:z': {} }, 'f:é': {} };
    const set = decodeFields(fields);
    assert.ok(set !== undefined);
    const shown = [...pathsOf(set)].map(showPath);
    assert.deepEqual(shown, ['.a', '.b', '.é', '.a.z', '.a[n="x"]', '.a[=9]', '.a[=10]']);
  });

  it('holds names that objects inherit like any other', () => {
    const set = setOf(['f:__proto__'], ['f:constructor', 'f:x']);
    const fields = JSON.parse(JSON.stringify(encodeFields(set)));
    assert.deepEqual(encodeFields(decodeFields(fields) ?? setOf()), {
      'f:__proto__': {},
      'f:constructor': { 'f:x': {} },
    });
  });
});

describe('sets of fields', () => {
  const a = setOf(['f:x'], ['f:x', 'f:y'], ['f:z']);
  const b = setOf(['f:x'], ['f:w']);
  const told = (set: typeof a) => [...pathsOf(set)].map(showPath);

  it('are joined, cut and compared node by node: a parent does not stand for its children', () => {
    assert.deepEqual(told(union(a, b)), ['.w', '.x', '.z', '.x.y']);
    assert.deepEqual(told(difference(a, b)), ['.z', '.x.y']);
    assert.deepEqual(told(intersection(a, b)), ['.x']);
  });

  it('are themselves when nothing changes', () => {
    assert.equal(union(a, setOf(['f:z'])), a);
    assert.equal(difference(a, setOf(['f:none'])), a);
  });
});

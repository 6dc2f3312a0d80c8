import assert from 'node:assert/strict';
import fc from 'fast-check';
import { applyMergePatch, mergePatch } from '../../../apiserver/patch/merge-patch.ts';
import { encodeJson, parseJson } from '../../../resources/meta/json.ts';

describe('merge patch', () => {
  // The examples of RFC 7396, appendix A.
  const examples: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, want] of examples) {
    it(`${JSON.stringify(target)} with ${JSON.stringify(patch)} is ${JSON.stringify(want)}`, () => {
      assert.deepEqual(mergePatch(target, patch), want);
    });
  }

  it('leaves its inputs as they are, and is the same applied twice', () => {
    const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(object, object, (target, patch) => {
        const before = encodeJson([target, patch]);
        const once = applyMergePatch(target, patch);
        assert.deepEqual(applyMergePatch(once, patch), once);
        assert.equal(encodeJson([target, patch]), before);
      }),
    );
  });

  it('takes __proto__ for a field like any other', () => {
    const merged = applyMergePatch({}, parseJson('{"__proto__":{"admin":true}}').value);
    assert.equal(encodeJson(merged), '{"__proto__":{"admin":true}}');
    assert.equal(encodeJson(applyMergePatch(merged, { a: 1 })), '{"__proto__":{"admin":true},"a":1}');
    assert.equal(Reflect.get({}, 'admin'), undefined);
    assert.deepEqual(applyMergePatch({}, { constructor: { a: 1 } }), { constructor: { a: 1 } });
  });

  it('of a request must be an object', () => {
    for (const patch of [null, 1, 'x', []]) assert.throws(() => applyMergePatch({}, patch), { reason: 'BadRequest' });
  });
});

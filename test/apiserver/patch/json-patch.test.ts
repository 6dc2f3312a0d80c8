import assert from 'node:assert/strict';
import { applyJsonPatch, decodeJsonPatch } from '../../../apiserver/patch/json-patch.ts';
import { encodeJson, parseJson } from '../../../resources/meta/json.ts';
import { isObject, type JsonObject } from '../../../resources/meta/object.ts';

const patched = (target: JsonObject, body: unknown) => applyJsonPatch(target, decodeJsonPatch(body).operations);

describe('JSON patch', () => {
  const cases: [string, JsonObject, unknown[], JsonObject][] = [
    [
      'adds and replaces',
      { a: 1 },
      [
        { op: 'add', path: '/b', value: 2 },
        { op: 'replace', path: '/a', value: 3 },
      ],
      { a: 3, b: 2 },
    ],
    [
      'appends and inserts',
      { l: [1, 3] },
      [
        { op: 'add', path: '/l/-', value: 4 },
        { op: 'add', path: '/l/1', value: 2 },
      ],
      { l: [1, 2, 3, 4] },
    ],
    ['removes items', { l: [1, 2, 3] }, [{ op: 'remove', path: '/l/1' }], { l: [1, 3] }],
    [
      'moves and copies',
      { a: { b: 1 }, c: {} },
      [
        { op: 'move', from: '/a/b', path: '/c/d' },
        { op: 'copy', from: '/c', path: '/e' },
      ],
      { a: {}, c: { d: 1 }, e: { d: 1 } },
    ],
    [
      'copies, so that later changes part',
      { a: { b: 1 } },
      [
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'replace', path: '/c/b', value: 2 },
      ],
      { a: { b: 1 }, c: { b: 2 } },
    ],
    [
      'adds a member that a replace does not find',
      { a: {} },
      [{ op: 'replace', path: '/a/b', value: 1 }],
      { a: { b: 1 } },
    ],
    ['takes what is absent for null', { a: 1 }, [{ op: 'test', path: '/b', value: null }], { a: 1 }],
    [
      'counts indexes below zero from the end, and reads signs and leading zeros',
      { l: [1, 2, 3] },
      [
        { op: 'remove', path: '/l/-1' },
        { op: 'replace', path: '/l/-2', value: 5 },
        { op: 'add', path: '/l/-1', value: 6 },
        { op: 'test', path: '/l/+1', value: 2 },
        { op: 'remove', path: '/l/01' },
      ],
      { l: [5, 6] },
    ],
    ['leaves members named like indexes alone', { a: { '-1': 1 } }, [{ op: 'remove', path: '/a/-1' }], { a: {} }],
    ['moves onto itself', { a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
    [
      'tests whatever the order of fields',
      { a: { x: 1, y: [2] } },
      [{ op: 'test', path: '/a', value: { y: [2], x: 1 } }],
      { a: { x: 1, y: [2] } },
    ],
    ['reads escaped pointers', { 'a/b': { 'c~d': 1 } }, [{ op: 'remove', path: '/a~1b/c~0d' }], { 'a/b': {} }],
    [
      'keeps integers of 64 bits',
      { a: 2n ** 62n },
      [
        { op: 'copy', from: '/a', path: '/b' },
        { op: 'move', from: '/a', path: '/c' },
      ],
      { b: 2n ** 62n, c: 2n ** 62n },
    ],
    ['replaces all', { a: 1 }, [{ op: 'replace', path: '', value: { b: 1 } }], { b: 1 }],
    [
      'adds a field of an inherited name',
      { a: {} },
      [{ op: 'add', path: '/a/toString', value: 1 }],
      { a: { toString: 1 } },
    ],
  ];
  for (const [claim, target, body, want] of cases) {
    it(claim, () => {
      const before = [encodeJson(target), encodeJson(body)];
      assert.deepEqual(patched(target, body), want);
      assert.deepEqual([encodeJson(target), encodeJson(body)], before);
    });
  }

  it('shares nothing with the patch', () => {
    const body = [
      { op: 'add', path: '/a', value: { b: 1 } },
      { op: 'add', path: '/a/c', value: 2 },
    ];
    patched({}, body);
    assert.deepEqual(body[0]?.value, { b: 1 });
  });

  const refused: [string, JsonObject, unknown[]][] = [
    ['a test that fails', { a: 1 }, [{ op: 'test', path: '/a', value: 2 }]],
    ['a test of what is not there', { a: 1 }, [{ op: 'test', path: '/b', value: 1 }]],
    ['a test for null below what is not there', { a: 1 }, [{ op: 'test', path: '/b/c', value: null }]],
    ['a replaced item that is not there', { l: [1] }, [{ op: 'replace', path: '/l/1', value: 2 }]],
    ['an operation that is null', {}, [null]],
    ['an operation without a path', {}, [{ op: 'remove' }]],
    ['an index before the first', { l: [1] }, [{ op: 'remove', path: '/l/-2' }]],
    ['a path that is not there', { a: 1 }, [{ op: 'remove', path: '/nothing' }]],
    ['a parent that is not there', { a: 1 }, [{ op: 'add', path: '/x/y', value: 1 }]],
    ['an index past the end', { l: [1] }, [{ op: 'add', path: '/l/5', value: 1 }]],
    ['an index that is no number', { l: [1] }, [{ op: 'replace', path: '/l/length', value: 0 }]],
    ['an index with an exponent', { l: [1, 2] }, [{ op: 'remove', path: '/l/1e0' }]],
    ['a move into itself', { a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/b/c' }]],
    ['a copy of what objects inherit', { a: {} }, [{ op: 'copy', from: '/a/toString', path: '/b' }]],
    ['a removal of what objects inherit', {}, [{ op: 'remove', path: '/constructor' }]],
    ['the prototype as a target', {}, [{ op: 'add', path: '/__proto__/admin', value: true }]],
    ['the prototype of a constructor', {}, [{ op: 'add', path: '/constructor/prototype/admin', value: true }]],
    ['an unknown operation', {}, [{ op: 'frob', path: '/a' }]],
    ['an add without a value', {}, [{ op: 'add', path: '/a' }]],
    ['a result that is no object', { a: 1 }, [{ op: 'replace', path: '', value: 3 }]],
  ];
  for (const [claim, target, body] of refused) {
    it(`refuses ${claim}`, () => {
      assert.throws(() => patched(target, body), {
        code: 422,
        reason: 'Invalid',
        details: {},
        message: /^the server rejected our request due to an error in our request: ./,
      });
      assert.equal(Reflect.get({}, 'admin'), undefined);
    });
  }

  it('that is no list does not decode', () => {
    assert.throws(() => decodeJsonPatch({ op: 'remove' }), {
      code: 400,
      message: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    });
    for (const body of [null, 'x', [1], [[]], [{ op: 'remove', path: 5 }], [{ op: {}, path: '' }]])
      assert.throws(() => decodeJsonPatch(body), { code: 400 });
  });

  it('may have 10000 operations, not more', () => {
    const operations = (count: number) => Array(count).fill({ op: 'test', path: '', value: {} });
    assert.deepEqual(patched({}, operations(10_000)), {});
    assert.throws(() => decodeJsonPatch(operations(10_001)), { code: 413, reason: 'RequestEntityTooLarge' });
  });

  it('cannot grow without bound by copying copies', () => {
    const doubling = Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '/a', path: `/a/k${i}` }));
    assert.throws(() => patched({ a: { x: 'y' } }, doubling), { code: 422, message: /too large/ });
  });

  it('reports members of operations nobody knows', () => {
    assert.deepEqual(decodeJsonPatch([{ op: 'remove', path: '/a', extra: 1 }]).unknown, ['[0].extra']);
  });

  it('decodes what the parser reads', () => {
    const { value } = parseJson('[{"op":"add","path":"/n","value":9007199254740993}]');
    const result = patched({}, value);
    assert.ok(isObject(result));
    assert.equal(encodeJson(result), '{"n":9007199254740993}');
  });
});

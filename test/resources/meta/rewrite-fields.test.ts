import assert from 'node:assert/strict';
import { LEFT_OUT, rewriteFields } from '../../../resources/meta/rewrite-fields.ts';

describe('rewriting the fields of an object', () => {
  const given = Object.freeze(JSON.parse('{"a":1,"__proto__":{"x":1},"b":2,"c":3}') as Record<string, unknown>);

  it('answers the object itself when every field stays, and asks of each once', () => {
    const asked: string[] = [];
    const same = rewriteFields(given, (name, field) => {
      asked.push(name);
      return field;
    });
    assert.equal(same, given);
    assert.deepEqual(asked, ['a', '__proto__', 'b', 'c']);
  });

  it('keeps the order, what objects inherit, and the input', () => {
    const next = rewriteFields(given, (name, field) => (name === 'b' ? 'new' : field));
    assert.equal(JSON.stringify(next), '{"a":1,"__proto__":{"x":1},"b":"new","c":3}');
    assert.equal(Object.getPrototypeOf(next), Object.prototype);
    assert.equal(given.b, 2);
  });

  it('leaves out what is to go, the first field and the last too', () => {
    const without = (gone: string) => rewriteFields(given, (name, field) => (name === gone ? LEFT_OUT : field));
    assert.deepEqual(Object.keys(without('a')), ['__proto__', 'b', 'c']);
    assert.deepEqual(Object.keys(without('c')), ['a', '__proto__', 'b']);
    assert.deepEqual(
      rewriteFields(given, () => LEFT_OUT),
      {},
    );
  });
});

import assert from 'node:assert/strict';
import { warningHeaders } from '../../../apiserver/requests/respond.ts';

const textsOf = (texts: readonly string[]) =>
  (warningHeaders(texts).warning ?? []).map((header) => /^299 - "(.*)"$/.exec(header)?.[1] ?? `odd: ${header}`);

describe('warning headers', () => {
  it('are one a text, quoted, without what no header may hold', () => {
    assert.deepEqual(textsOf(['unknown field "a\\b"', 'two\r\nlines\u0000']), [
      'unknown field \\"a\\\\b\\"',
      'two lines ',
    ]);
    assert.deepEqual(warningHeaders(['', '']), {});
    assert.deepEqual(warningHeaders([]), {});
  });

  it('tell nothing twice', () => {
    assert.deepEqual(textsOf(['a', 'b', 'a', '']), ['a', 'b']);
  });

  it('are whole up to 4096 characters together, whatever their bytes', () => {
    const whole = ['ü'.repeat(2000), '😀'.repeat(2096)];
    assert.deepEqual(textsOf(whole), whole);
  });

  it('are cut to 256 characters each beyond that', () => {
    const cut = textsOf(['😀'.repeat(2000), 'b'.repeat(2097), 'short']);
    assert.deepEqual(
      cut.map((text) => [...text].length),
      [256, 256, 5],
    );
  });

  it('end where 4096 are used up', () => {
    const many = Array.from({ length: 100 }, (_, i) => `${i} `.padEnd(300, 'x'));
    assert.equal(textsOf(many).length, 16);
  });
});

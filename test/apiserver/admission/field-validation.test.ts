import assert from 'node:assert/strict';
import { judgeFields } from '../../../apiserver/admission/field-validation.ts';
import { Widget } from './widget.ts';

const findings = { duplicates: ['duplicate field "spec.a"'], unknown: ['spec.bogus', 'spec.parts[0].nope'] };

describe('unknown and repeated fields', () => {
  it('are a BadRequest that names all of them with Strict', () => {
    assert.throws(() => judgeFields(Widget, findings, 'Strict'), {
      code: 400,
      message:
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: duplicate field "spec.a", unknown field "spec.bogus", unknown field "spec.parts[0].nope"',
    });
  });

  it('are warnings with Warn', () => {
    assert.deepEqual(judgeFields(Widget, findings, 'Warn'), [
      'duplicate field "spec.a"',
      'unknown field "spec.bogus"',
      'unknown field "spec.parts[0].nope"',
    ]);
    assert.deepEqual(judgeFields(Widget, { duplicates: [], unknown: ['x'] }, 'Warn', 'json patch '), [
      'json patch unknown field "x"',
    ]);
  });

  it('that are not told are counted', () => {
    const more = { duplicates: [], unknown: ['x'], untold: 7 };
    assert.deepEqual(judgeFields(Widget, more, 'Warn'), ['unknown field "x"', '7 more unknown fields']);
    assert.throws(() => judgeFields(Widget, more, 'Strict'), /: unknown field "x", 7 more unknown fields$/);
    assert.deepEqual(judgeFields(Widget, more, 'Ignore'), []);
  });

  it('are passed over with Ignore', () => assert.deepEqual(judgeFields(Widget, findings, 'Ignore'), []));

  it('absent, nothing is refused', () =>
    assert.deepEqual(judgeFields(Widget, { duplicates: [], unknown: [] }, 'Strict'), []));
});

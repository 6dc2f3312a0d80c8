import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseLabelSelector } from '../../../apiserver/selectors/label-selector.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';

const labels = { app: 'demo', tier: 'front', n: '5', empty: '', in: 'x' };

describe('label selectors', () => {
  const cases: [string, boolean][] = [
    ['', true],
    ['app', true],
    ['!app', false],
    ['!other', true],
    ['app=demo', true],
    ['app==demo', true],
    ['app = demo , tier != back', true],
    ['app!=demo', false],
    ['other!=x', true],
    ['other=', false],
    ['empty=', true],
    ['empty', true],
    ['app in (demo,other)', true],
    ['app in (demo,other),!missing', true],
    ['app notin (demo)', false],
    ['other notin (demo)', true],
    ['empty in ()', true],
    ['app in (,demo)', true],
    ['in in (x)', true],
    ['in', true],
    ['n>4', true],
    ['n > 5', false],
    ['n<6', true],
    ['app>4', false],
    ['n>9223372036854775806', false],
    ['toString', false],
    ['!constructor', true],
  ];
  for (const [text, want] of cases) {
    it(`${JSON.stringify(text)} ${want ? 'matches' : 'does not match'}`, () => {
      assert.equal(parseLabelSelector(text).matches(labels), want);
    });
  }

  it('match objects without labels by what is absent', () => {
    assert.equal(parseLabelSelector('!a,b!=c').matches(undefined), true);
    assert.equal(parseLabelSelector('a').matches(undefined), false);
  });

  it('give their requirements', () => {
    assert.deepEqual(parseLabelSelector('a in (z,b,b),!c').requirements, [
      { key: 'a', operator: 'in', values: ['b', 'z'] },
      { key: 'c', operator: '!', values: [] },
    ]);
  });

  const errors: [string, string][] = [
    ['app in demo', "unable to parse requirement: found 'demo' expected: '('"],
    ['a===b', "unable to parse requirement: found '=', expected: identifier"],
    ['=b', "found '=', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    [
      'a>x',
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ];
  for (const [text, message] of errors) {
    it(`refuse ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseLabelSelector(text), { reason: 'BadRequest', message });
    });
  }

  it('refuse keys and values that no label can have', () => {
    assert.throws(
      () => parseLabelSelector('a/b/c=x'),
      /unable to parse requirement: <nil>: Invalid value: "a\/b\/c": a qualified name must/,
    );
    assert.throws(() => parseLabelSelector('a=_x'), /values\[0\]\[a\]: Invalid value: "_x": a valid label must/);
  });

  it('either parse or are a BadRequest, whatever the text', () => {
    const pieces = fc.constantFrom('a', 'in', 'notin', '(', ')', ',', '!', '=', '==', '!=', '<', '>', ' ', '5', 'é');
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        try {
          assert.equal(typeof parseLabelSelector(parts.join('')).matches(labels), 'boolean');
        } catch (error) {
          assert.ok(error instanceof ApiError && error.reason === 'BadRequest', String(error));
        }
      }),
      { numRuns: 500 },
    );
  });
});

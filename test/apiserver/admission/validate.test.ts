import assert from 'node:assert/strict';
import fc from 'fast-check';
import { KindCompileError } from '../../../apiserver/admission/kind-compile-error.ts';
import { compileSchemaCheck } from '../../../apiserver/admission/schema-check.ts';
import { compileKindValidator } from '../../../apiserver/admission/validate.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import { invalid } from '../../../resources/meta/api-error.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import type { Schema } from '../../../resources/meta/schema.ts';
import { aWidget, Widget } from './widget.ts';

const validate = compileKindValidator(Widget);
const sayings = (spec: JsonObject) => validate(aWidget(spec)).map((cause) => `${cause.field}: ${cause.message}`);
const NOT_CHECKED =
  '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

describe('validation of a kind', () => {
  it('finds nothing wrong with a valid object', () =>
    assert.deepEqual(sayings({ serial: 2n ** 62n, port: 'http' }), []));

  const cases: [string, JsonObject, string[]][] = [
    [
      'a wrong type where scale reads',
      { replicas: 'many' },
      [
        'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
        NOT_CHECKED,
        '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: many is of the type string, expected int64',
      ],
    ],
    ['a missing field', { size: undefined }, ['spec.size: Required value', NOT_CHECKED]],
    [
      'a word not in the list, which does not stop the rules',
      { size: 'huge' },
      ['spec.size: Unsupported value: "huge": supported values: "small", "medium", "large"'],
    ],
    ['a broken rule', { replicas: 20 }, ['spec: Invalid value: "object": replicas may not exceed maxReplicas']],
    [
      'several at once, by field',
      { size: 'huge', replicas: 101, color: 'averyveryverylongcolour', pattern: 'ABC' },
      [
        'spec.color: Too long: may not be longer than 12',
        'spec.pattern: Invalid value: "ABC": spec.pattern in body should match \'^[a-z]+$\'',
        'spec.replicas: Invalid value: 101: spec.replicas in body should be less than or equal to 100',
        'spec.size: Unsupported value: "huge": supported values: "small", "medium", "large"',
        NOT_CHECKED,
      ],
    ],
    [
      'a key given twice',
      { parts: [{ name: 'w' }, { count: 1, name: 'w' }] },
      ['spec.parts[1]: Duplicate value: map[string]interface {}{"name":"w"}'],
    ],
    [
      'a set item given twice, whatever the number of times',
      { tags: ['a', 'b', 'a', 'a'] },
      ['spec.tags[2]: Duplicate value: "a"'],
    ],
    [
      'a list where an integer or a word belongs',
      { port: [] },
      ['spec.port: Invalid value: "array": spec.port in body must be of type integer,string: "array"', NOT_CHECKED],
    ],
  ];
  for (const [claim, spec, want] of cases)
    it(`says what is wrong: ${claim}`, () => assert.deepEqual(sayings(spec), want));

  it('makes the message kubectl prints', () => {
    const error = invalid(Widget, 'bad-cel', validate(aWidget({ replicas: 20 })));
    assert.equal(
      error.message,
      'Widget.demo.example.com "bad-cel" is invalid: spec: Invalid value: "object": replicas may not exceed maxReplicas',
    );
  });

  it('holds back the rules when metadata lacks something too', () => {
    const causes = validate(aWidget({ replicas: 20 }, { name: '' }));
    assert.deepEqual(
      causes.map((cause) => cause.field),
      ['metadata.name', '<nil>'],
    );
  });

  it('compiles every kind of ours', () => {
    for (const kind of BUILT_IN_KINDS) assert.equal(typeof compileKindValidator(kind), 'function');
  });
});

describe('a schema', () => {
  const cases: [string, Schema, unknown, string[]][] = [
    [
      'minimum',
      { type: 'integer', minimum: 3 },
      2,
      ['Invalid value: 2: v in body should be greater than or equal to 3'],
    ],
    [
      'exclusiveMinimum',
      { type: 'integer', minimum: 3, exclusiveMinimum: true },
      3,
      ['Invalid value: 3: v in body should be greater than 3'],
    ],
    [
      'exclusiveMaximum',
      { type: 'number', maximum: 3, exclusiveMaximum: true },
      3,
      ['Invalid value: 3: v in body should be less than 3'],
    ],
    ['multipleOf', { type: 'integer', multipleOf: 2 }, 5, ['Invalid value: 5: v in body should be a multiple of 2']],
    [
      'minLength in characters',
      { type: 'string', minLength: 3 },
      '😀😀',
      ['Invalid value: "😀😀": v in body should be at least 3 chars long'],
    ],
    ['maxLength in characters', { type: 'string', maxLength: 2 }, '😀😀', []],
    ['minItems', { type: 'array', minItems: 2 }, [1], ['Invalid value: 1: v in body should have at least 2 items']],
    ['maxItems', { type: 'array', maxItems: 1 }, [1, 2], ['Too many: 2: must have at most 1 items']],
    ['maxProperties', { type: 'object', maxProperties: 1 }, { a: 1, b: 2 }, ['Too many: 2: must have at most 1 items']],
    [
      'minProperties',
      { type: 'object', minProperties: 1 },
      {},
      ['Invalid value: 0: v in body should have at least 1 properties'],
    ],
    [
      'date-time',
      { type: 'string', format: 'date-time' },
      'soon',
      ['Invalid value: "soon": v in body must be of type date-time: "soon"'],
    ],
    ['date-time, valid', { type: 'string', format: 'date-time' }, '2026-01-02T03:04:05Z', []],
    [
      'ipv4',
      { type: 'string', format: 'ipv4' },
      '1.2.3.256',
      ['Invalid value: "1.2.3.256": v in body must be of type ipv4: "1.2.3.256"'],
    ],
    [
      'ipv6',
      { type: 'string', format: 'ipv6' },
      '1::2::3',
      ['Invalid value: "1::2::3": v in body must be of type ipv6: "1::2::3"'],
    ],
    ['ipv6, valid', { type: 'string', format: 'ipv6' }, 'fe80::1', []],
    ['uuid', { type: 'string', format: 'uuid' }, 'x', ['Invalid value: "x": v in body must be of type uuid: "x"']],
    [
      'byte',
      { type: 'string', format: 'byte' },
      '???',
      ['Invalid value: "???": v in body must be of type byte: "???"'],
    ],
    ['a format nobody checks', { type: 'string', format: 'poem' }, 'x', []],
    ['int32 as a note only', { type: 'integer', format: 'int32' }, 2 ** 40, []],
    ['an integer of 64 bits', { type: 'integer' }, 2n ** 62n, []],
    [
      'a maximum for an integer of 64 bits',
      { type: 'integer', maximum: 10 },
      2n ** 62n,
      ['Invalid value: 4611686018427387904: v in body should be less than or equal to 10'],
    ],
    ['null', { type: 'string' }, null, ['Invalid value: "null": v in body must be of type string: "null"']],
    ['null where it is allowed', { type: 'string', nullable: true }, null, []],
    [
      'anyOf',
      { anyOf: [{ minimum: 5 }, { maximum: 1 }] },
      3,
      ['Invalid value: "": "v" must validate at least one schema (anyOf)'],
    ],
    ['not', { not: { minimum: 1 } }, 3, ['Invalid value: "": "v" must not validate the schema (not)']],
    [
      'an embedded resource',
      { type: 'object', 'x-kubernetes-embedded-resource': true },
      { kind: 'K', apiVersion: 'v1' },
      ['Required value'],
    ],
    ['preserved unknown fields of any shape', { 'x-kubernetes-preserve-unknown-fields': true }, { a: [1] }, []],
  ];
  for (const [claim, schema, value, want] of cases) {
    it(`judges ${claim}`, () => {
      const messages = compileSchemaCheck({ type: 'object', properties: { v: schema } })({ v: value }).map(
        (cause) => cause.message,
      );
      assert.deepEqual(
        want.every((message) => messages.includes(message)) && messages.length >= want.length ? want : messages,
        want,
      );
      if (want.length === 0) assert.deepEqual(messages, []);
    });
  }

  it('matches a pattern in time proportional to the text, whatever the pattern', () => {
    const pieces = fc.constantFrom('(a+)+', '(a|a)*', '(.*a){9}', '(a?){20}', '([a-z]+)*', '(a*)*b');
    const check = fc.property(fc.array(pieces, { minLength: 1, maxLength: 3 }), (parts) => {
      const judge = compileSchemaCheck({
        type: 'object',
        properties: { v: { type: 'string', pattern: `^${parts.join('')}$` } },
      });
      // A backtracking engine does not come back from this within the age of the universe.
      assert.equal(judge({ v: `${'a'.repeat(2000)}!` }).length, 1);
    });
    fc.assert(check, { numRuns: 10 });
  });

  it('refuses a pattern that is long when its repetitions are written out, one within another too', () => {
    for (const pattern of ['[a-z]{0,1000}|'.repeat(21), '(?:(?:a{10}){10}){10}'.repeat(20), '\\pL'.repeat(1_001)]) {
      const schema: Schema = { type: 'object', properties: { a: { type: 'string', pattern } } };
      assert.throws(() => compileSchemaCheck(schema), /expression too large/, pattern);
    }
  });

  it('gives up on a text that takes too much work to match, naming its field', () => {
    // A table of its states would hold 2^300 of them.
    const pattern = `^(a|b)*a(a|b){300}$`;
    const judge = compileSchemaCheck({ type: 'object', properties: { v: { type: 'string', pattern } } });
    assert.deepEqual(judge({ v: `a${'ba'.repeat(150)}` }), []);
    const [cause, ...more] = judge({ v: 'ab'.repeat(100_000) });
    assert.deepEqual(more, []);
    assert.equal(cause?.field, 'v');
    assert.match(cause?.message ?? '', /takes more work than one request may ask for/);
  });

  it('gives up on conditions that take too much work to hold a value against', () => {
    const oneOf = Array.from({ length: 1_000 }, (_, i) => ({ maxLength: i }));
    const judge = compileSchemaCheck({
      type: 'object',
      properties: { v: { type: 'array', items: { type: 'string', oneOf } } },
    });
    const causes = judge({ v: Array(10_000).fill('x'.repeat(999)) });
    assert.equal(causes.length, 1);
    assert.match(causes[0]?.field ?? '', /^v\[[0-9]+\]$/);
  });

  it('matches patterns of ordinary make in long lists without end of effort', () => {
    const pattern =
      '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$';
    const judge = compileSchemaCheck({
      type: 'object',
      properties: { v: { type: 'array', items: { type: 'string', pattern, maxLength: 316 } } },
    });
    assert.deepEqual(judge({ v: Array.from({ length: 20_000 }, (_, i) => `app.kubernetes.io/managed-by-${i}`) }), []);
  });

  it('tells a thousand faults at most, and of many long ones what can be read', () => {
    const words = Array.from({ length: 5_000 }, (_, i) => `word-${i}`);
    const judge = compileSchemaCheck({
      type: 'object',
      properties: {
        many: { type: 'array', items: { type: 'integer' } },
        long: { type: 'array', items: { type: 'string', enum: words } },
      },
    });
    assert.equal(judge({ many: Array(5_000).fill('x') }).length, 1_000);
    const told = judge({ long: Array(5_000).fill('x') });
    assert.ok(told.length > 1 && told.reduce((sum, { message }) => sum + message.length, 0) < 1_100_000);
  });

  it('sees fields called as what every object inherits only where they are', () => {
    const judge = compileSchemaCheck({
      type: 'object',
      required: ['valueOf'],
      properties: { toString: { type: 'string' }, valueOf: { type: 'integer' } } as Record<string, Schema>,
    });
    assert.deepEqual(
      judge({}).map(({ field, reason }) => [field, reason]),
      [['valueOf', 'FieldValueRequired']],
    );
    assert.deepEqual(judge({ valueOf: 1, toString: 'x' }), []);
  });

  it('holds each field to its own pattern', () => {
    const text = (pattern: string): Schema => ({ type: 'string', pattern });
    const judge = compileSchemaCheck({ type: 'object', properties: { a: text('^a$'), b: text('^b$') } });
    assert.deepEqual(judge({ a: 'a', b: 'b' }), []);
    assert.deepEqual(
      judge({ a: 'b', b: 'a' }).map((cause) => cause.field),
      ['a', 'b'],
    );
  });

  it('whose pattern does not compile is refused with the place', () => {
    const schema: Schema = {
      type: 'object',
      properties: { l: { type: 'array', items: { type: 'string', pattern: '(?=x)' } } },
    };
    assert.throws(
      () => compileSchemaCheck(schema),
      (error) => {
        assert.ok(error instanceof KindCompileError);
        assert.equal(error.causes[0]?.field, 'properties[l].items.pattern');
        return true;
      },
    );
  });
});

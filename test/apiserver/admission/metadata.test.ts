import assert from 'node:assert/strict';
import { decodeMetadata } from '../../../apiserver/admission/decode-metadata.ts';
import { addedFinalizerCauses, validateMetadata } from '../../../apiserver/admission/metadata.ts';
import { Namespace } from '../../../resources/kinds/namespace.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { aWidget, Gadget, Widget } from './widget.ts';

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const sayings = (metadata: JsonObject) =>
  validateMetadata(Widget, aWidget({}, metadata)).map((cause) => `${cause.field}: ${cause.message}`);

const owner = { apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'u' };

describe('metadata', () => {
  const good: [string, JsonObject][] = [
    ['a name with dots', { name: 'a.b-c.0' }],
    ['a name of 253 characters', { name: `${'a'.repeat(126)}.${'b'.repeat(126)}` }],
    ['labels with and without prefix', { labels: { a: '', 'ok.io/A_b.c': 'V-1_2.x' } }],
    ['annotations with a capital in the prefix', { annotations: { 'Ok.io/a': 'anything, at all' } }],
    ['a finalizer without a domain, on kinds of CRDs', { finalizers: ['notqualified', 'ok.io/f'] }],
    ['one controller among the owners', { ownerReferences: [{ ...owner, controller: true }, owner] }],
    ['annotations of 256 KiB', { annotations: { a: 'x'.repeat(256 * 1024 - 1) } }],
    ['a base for names that ends in a dash', { generateName: 'gen-' }],
  ];
  for (const [claim, metadata] of good) it(`may have ${claim}`, () => assert.deepEqual(sayings(metadata), []));

  const bad: [string, JsonObject, string[]][] = [
    ['no name', { name: '' }, ['metadata.name: Required value: name or generateName is required']],
    ['capitals in the name', { name: 'Bad_Name' }, [`metadata.name: Invalid value: "Bad_Name": ${SUBDOMAIN}`]],
    [
      'a long name',
      { name: 'x'.repeat(254) },
      [`metadata.name: Invalid value: "${'x'.repeat(254)}": must be no more than 253 characters`],
    ],
    [
      'a base for names with capitals',
      { generateName: 'Gen-' },
      [`metadata.generateName: Invalid value: "Gen-": ${SUBDOMAIN}`],
    ],
    ['no namespace', { namespace: '' }, ['metadata.namespace: Required value']],
    [
      'a space in a label key',
      { labels: { 'bad key': '1' } },
      [`metadata.labels: Invalid value: "bad key": ${NAME_PART}`],
    ],
    [
      'a slash in a label value',
      { labels: { x: 'not/valid' } },
      [`metadata.labels: Invalid value: "not/valid": ${LABEL_VALUE}`],
    ],
    [
      'a long label value',
      { labels: { x: 'v'.repeat(64) } },
      [`metadata.labels: Invalid value: "${'v'.repeat(64)}": must be no more than 63 characters`],
    ],
    [
      'an empty prefix',
      { labels: { '/x': '1' } },
      ['metadata.labels: Invalid value: "/x": prefix part must be non-empty'],
    ],
    [
      'a bad prefix',
      { annotations: { 'a_b/x': '1' } },
      [`metadata.annotations: Invalid value: "a_b/x": prefix part ${SUBDOMAIN}`],
    ],
    [
      'annotations over 256 KiB, in bytes',
      { annotations: { a: 'é'.repeat(128 * 1024) } },
      ['metadata.annotations: Too long: may not be longer than 262144'],
    ],
    [
      'a finalizer that is no name',
      { finalizers: ['a b'] },
      [`metadata.finalizers: Invalid value: "a b": ${NAME_PART}`],
    ],
    [
      'an owner without a uid',
      { ownerReferences: [{ ...owner, uid: '' }] },
      ['metadata.ownerReferences[0].uid: Invalid value: "": uid must not be empty'],
    ],
    [
      'two controllers',
      {
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, name: 'p', controller: true },
        ],
      },
      [
        'metadata.ownerReferences: Invalid value: "references": Only one reference can have Controller set to true. Found "true" in references for Owner/o and Owner/p',
      ],
    ],
  ];
  for (const [claim, metadata, want] of bad)
    it(`may not have ${claim}`, () => assert.deepEqual(sayings(metadata), want));

  it('is wrong in a thousand ways at most, by part', () => {
    const many = Array.from({ length: 2_000 }, (_, i) => `bad key ${i}`);
    const map = Object.fromEntries(many.map((name) => [name, '-']));
    assert.equal(sayings({ labels: map }).length, 1_000);
    assert.equal(sayings({ annotations: map }).length, 1_000);
    assert.equal(sayings({ finalizers: many }).length, 1_000);
    assert.equal(sayings({ ownerReferences: many.map(() => ({})) }).length, 1_000);
  });

  it('of cluster-wide objects has no namespace', () => {
    const causes = validateMetadata(Gadget, aWidget({}, { namespace: 'x' }));
    assert.deepEqual(causes, [
      { reason: 'FieldValueForbidden', field: 'metadata.namespace', message: 'Forbidden: not allowed on this type' },
    ]);
  });

  it('of a Namespace has a label for a name, and qualified finalizers', () => {
    const named = (name: string, finalizers: string[]) => {
      const { apiVersion, kind } = { apiVersion: 'v1', kind: 'Namespace' };
      const meta = { name, uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', finalizers };
      return validateMetadata(Namespace, { apiVersion, kind, metadata: meta });
    };
    assert.deepEqual(named('a-b', ['kubernetes', 'ok.io/f']), []);
    assert.match(named('a.b', [])[0]?.message ?? '', /a lowercase RFC 1123 label must consist/);
    assert.match(named('a', ['bare'])[0]?.message ?? '', /neither a standard finalizer name/);
  });

  it('gains no finalizers once deletion began', () => {
    const before = aWidget({}, { finalizers: ['a.io/hold', 'a.io/x'], deletionTimestamp: '2026-01-01T00:00:00Z' });
    const after = aWidget({}, { finalizers: ['a.io/hold', 'a.io/more'] });
    assert.deepEqual(
      addedFinalizerCauses(after, before).map((cause) => cause.message),
      [
        'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.io/more"}',
      ],
    );
    assert.deepEqual(addedFinalizerCauses(aWidget({}, { finalizers: ['a.io/hold'] }), before), []);
    assert.deepEqual(addedFinalizerCauses(after, aWidget({})), []);
  });
});

describe('the shape of metadata', () => {
  const bad: [JsonObject, string][] = [
    [{ labels: { a: 1 } }, 'cannot unmarshal number into Go struct field ObjectMeta.metadata.labels.a of type string'],
    [
      { labels: [] },
      'cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string',
    ],
    [
      { finalizers: 'x' },
      'cannot unmarshal string into Go struct field ObjectMeta.metadata.finalizers of type []string',
    ],
    [{ name: true }, 'cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string'],
    [
      { ownerReferences: [{ controller: 'x' }] },
      'cannot unmarshal string into Go struct field ObjectMeta.metadata.ownerReferences.controller of type bool',
    ],
  ];
  for (const [metadata, why] of bad) {
    it(`is refused when it is ${JSON.stringify(metadata)}`, () => {
      assert.throws(() => decodeMetadata(Widget, { metadata }), {
        reason: 'BadRequest',
        message: `Widget in version "v1" cannot be handled as a Widget: json: ${why}`,
      });
    });
  }

  it('takes null for absent, and in a map for the empty text', () => {
    const given = { metadata: { name: 'x', labels: null, annotations: { a: null, b: 'c' }, finalizers: [null, 'f'] } };
    assert.deepEqual(decodeMetadata(Widget, given), {
      metadata: { name: 'x', annotations: { a: '', b: 'c' }, finalizers: ['f'] },
    });
    assert.equal(given.metadata.labels, null);
  });

  it('shares what is right already', () => {
    const given = { metadata: { name: 'x', labels: { a: 'b' }, unknown: [1] }, spec: {} };
    assert.equal(decodeMetadata(Widget, given), given);
  });
});

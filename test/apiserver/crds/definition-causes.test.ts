import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { definitionCauses } from '../../../apiserver/crds/definition-causes.ts';
import type { CustomResourceDefinition } from '../../../resources/kinds/custom-resource-definition.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import { crdOf } from '../../../resources/meta/crd-of.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { definition, schema, version } from './crd-server.ts';

const asDefinition = (object: object) => object as CustomResourceDefinition;
const faults = (object: object) => definitionCauses(asDefinition(object), undefined).map((cause) => cause.field);
const V = 'spec.versions[0]';
const S = `${V}.schema.openAPIV3Schema`;
const X = `${S}.properties[spec]`;
const one = (over: JsonObject) => definition({ versions: [version('v1', over)] });
const spec = (shape: JsonObject) => one({ schema: schema(shape) });
const field = (shape: JsonObject) => spec({ type: 'object', properties: { a: shape } });
const A = `${X}.properties[a]`;
const text = { type: 'string' };
const rule = (of: JsonObject) => ({ ...text, 'x-kubernetes-validations': [of] });
const keyed = (items: JsonObject, keys: readonly string[] = ['k']): JsonObject => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items,
});
const column = (over: JsonObject) =>
  one({ additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a', ...over }] });
const scale = (over: JsonObject) =>
  one({ subresources: { scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', ...over } } });
const selectable = (jsonPath: string) =>
  one({
    schema: schema({ type: 'object', properties: { a: text, l: { type: 'array', items: text } } }),
    selectableFields: [{ jsonPath }],
  });

const REFUSED: Readonly<Record<string, readonly [object, ...string[]]>> = {
  'another name than plural.group': [definition({}, {}, { name: 'others.test.example.com' }), 'metadata.name'],
  'a group without a dot': [definition({ group: 'test' }), 'spec.group'],
  'a plural in upper case': [definition({}, { plural: 'Things' }), 'spec.names.plural'],
  'a kind with a space': [definition({}, { kind: 'A Thing' }), 'spec.names.kind'],
  'a kind that is its list': [definition({}, { listKind: 'Thing' }), 'spec.names.listKind'],
  'a short name with a dot': [definition({}, { shortNames: ['ok', 'a.b'] }), 'spec.names.shortNames[1]'],
  'a category with a dash at its end': [definition({}, { categories: ['a-'] }), 'spec.names.categories[0]'],
  'a webhook': [definition({ conversion: { strategy: 'Webhook' } }), 'spec.conversion.strategy'],
  'unknown fields kept everywhere': [definition({ preserveUnknownFields: true }), 'spec.preserveUnknownFields'],
  'no storage version': [definition({ versions: [version('v1', { storage: false })] }), 'spec.versions'],
  'two storage versions': [definition({ versions: [version('v1'), version('v2')] }), 'spec.versions'],
  'a version twice': [
    definition({ versions: [version('v1'), version('v1', { storage: false })] }),
    'spec.versions[1].name',
  ],
  'a version that begins with a digit': [definition({ versions: [version('1')] }), `${V}.name`],
  'no schema': [one({ schema: {} }), S],
  'a warning of a version that is not deprecated': [one({ deprecationWarning: 'old' }), `${V}.deprecationWarning`],
  'a schema that is a list': [one({ schema: { openAPIV3Schema: [] } }), S],
  'an object that is a string': [one({ schema: { openAPIV3Schema: { type: 'string' } } }), `${S}.type`],
  'an object without a type': [one({ schema: { openAPIV3Schema: {} } }), `${S}.type`],
  'an object that is a map': [
    one({ schema: { openAPIV3Schema: { type: 'object', additionalProperties: text } } }),
    `${S}.additionalProperties`,
  ],
  'metadata with labels': [
    one({
      schema: schema({ type: 'object' }, { metadata: { type: 'object', properties: { labels: { type: 'object' } } } }),
    }),
    `${S}.properties[metadata].properties[labels]`,
  ],
  'properties that are a list': [spec({ type: 'object', properties: [] }), `${X}.properties`],
  'a minimum that is text': [field({ type: 'integer', minimum: '1' }), `${A}.minimum`],
  'a length with a fraction': [field({ ...text, maxLength: 1.5 }), `${A}.maxLength`],
  'a field without a type': [field({ description: 'what?' }), `${A}.type`],
  'a type there is not': [field({ type: 'float' }), `${A}.type`],
  'items without a type': [field({ type: 'array', items: {} }), `${A}.items.type`],
  'a list without items': [field({ type: 'array' }), `${A}.items`],
  'a list of two schemas': [field({ type: 'array', items: [text, text] }), `${A}.items`],
  'a reference': [field({ ...text, $ref: '#/definitions/x' }), `${A}.$ref`],
  definitions: [field({ type: 'object', definitions: { x: text } }), `${A}.definitions`],
  'names by pattern': [field({ type: 'object', patternProperties: { '^a': text } }), `${A}.patternProperties`],
  'unique items': [field({ type: 'array', items: text, uniqueItems: true }), `${A}.uniqueItems`],
  'no other properties': [field({ type: 'object', additionalProperties: false }), `${A}.additionalProperties`],
  'properties beside values': [
    field({ type: 'object', properties: { b: text }, additionalProperties: text }),
    `${A}.additionalProperties`,
  ],
  'fields of a string': [field({ type: 'string', properties: { b: text } }), `${A}.type`],
  'unknown fields not kept': [
    field({ type: 'object', 'x-kubernetes-preserve-unknown-fields': false }),
    `${A}.x-kubernetes-preserve-unknown-fields`,
  ],
  'an int-or-string with a type': [field({ ...text, 'x-kubernetes-int-or-string': true }), `${A}.type`],
  'an embedded resource without fields': [
    field({ type: 'object', 'x-kubernetes-embedded-resource': true }),
    `${A}.properties`,
  ],
  'a type in a condition': [field({ ...text, anyOf: [{ type: 'string' }] }), `${A}.anyOf[0].type`],
  'a default in a condition': [field({ ...text, not: { default: 'a' } }), `${A}.not.default`],
  'a condition on a field there is not': [
    field({ type: 'object', properties: { b: text }, oneOf: [{ properties: { c: { minLength: 1 } } }] }),
    `${A}.oneOf[0].properties[c]`,
  ],
  'a list type of a map': [field({ type: 'object', 'x-kubernetes-list-type': 'atomic' }), `${A}.type`],
  'a list type there is not': [
    field({ type: 'array', items: text, 'x-kubernetes-list-type': 'bag' }),
    `${A}.x-kubernetes-list-type`,
  ],
  'a map type there is not': [field({ type: 'object', 'x-kubernetes-map-type': 'bag' }), `${A}.x-kubernetes-map-type`],
  'a set of granular objects': [
    field({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } }),
    `${A}.items.x-kubernetes-map-type`,
  ],
  'keys of an atomic list': [
    field({ type: 'array', items: { type: 'object' }, 'x-kubernetes-list-map-keys': ['k'] }),
    `${A}.x-kubernetes-list-map-keys`,
  ],
  'a keyed list without keys': [field(keyed({ type: 'object' }, [])), `${A}.x-kubernetes-list-map-keys`],
  'a keyed list of texts': [field(keyed(text)), `${A}.items.type`, `${A}.x-kubernetes-list-map-keys[0]`],
  'a key that may be missing': [
    field(keyed({ type: 'object', properties: { k: text } })),
    `${A}.items.properties[k].default`,
  ],
  'a key that is an object': [
    field(keyed({ type: 'object', required: ['k'], properties: { k: { type: 'object' } } })),
    `${A}.x-kubernetes-list-map-keys[0]`,
  ],
  'a key twice': [
    field(keyed({ type: 'object', required: ['k'], properties: { k: text } }, ['k', 'k'])),
    `${A}.x-kubernetes-list-map-keys[1]`,
  ],
  'a default of another type': [field({ ...text, default: 1 }), `${A}.default`],
  'a default beyond its bounds': [field({ type: 'integer', maximum: 3, default: 4 }), `${A}.default`],
  'a null default': [field({ ...text, default: null }), `${A}.default`],
  'a default with an unknown field': [
    field({ type: 'object', properties: { b: text }, default: { c: 'x' } }),
    `${A}.default.c`,
  ],
  'a default that a rule refuses': [field({ ...rule({ rule: 'self.size() > 3' }), default: 'ab' }), `${A}.default`],
  'a default of the object itself': [
    one({ schema: { openAPIV3Schema: { type: 'object', default: {} } } }),
    `${S}.default`,
  ],
  'a pattern that looks ahead': [field({ ...text, pattern: '(?=a)' }), `${A}.pattern`],
  'an empty rule': [field(rule({ rule: ' ' })), `${A}.x-kubernetes-validations[0].rule`],
  'a rule that is no CEL': [field(rule({ rule: 'self ==' })), `${A}.x-kubernetes-validations[0].rule`],
  'a rule that is no yes or no': [field(rule({ rule: 'self' })), `${A}.x-kubernetes-validations[0].rule`],
  'a rule on a field there is not': [
    field({ type: 'object', properties: { b: text }, 'x-kubernetes-validations': [{ rule: 'self.c == "x"' }] }),
    `${A}.x-kubernetes-validations[0].rule`,
  ],
  'a rule with a message of two lines': [
    field(rule({ rule: 'true', message: 'a\nb' })),
    `${A}.x-kubernetes-validations[0].message`,
  ],
  'a rule with a reason there is not': [
    field(rule({ rule: 'true', reason: 'Because' })),
    `${A}.x-kubernetes-validations[0].reason`,
  ],
  'a column of a type there is not': [column({ type: 'text' }), `${V}.additionalPrinterColumns[0].type`],
  'a column of a format there is not': [column({ format: 'hex' }), `${V}.additionalPrinterColumns[0].format`],
  'a column that leads nowhere': [column({ jsonPath: '.spec[' }), `${V}.additionalPrinterColumns[0].jsonPath`],
  'a column without a dot': [column({ jsonPath: 'spec.a' }), `${V}.additionalPrinterColumns[0].jsonPath`],
  'replicas in status': [scale({ specReplicasPath: '.status.n' }), `${V}.subresources.scale.specReplicasPath`],
  'replicas in a list': [scale({ specReplicasPath: '.spec.n[0]' }), `${V}.subresources.scale.specReplicasPath`],
  'a selector of nothing': [scale({ labelSelectorPath: '.metadata.x' }), `${V}.subresources.scale.labelSelectorPath`],
  'a selectable field there is not': [selectable('.spec.b'), `${V}.selectableFields[0].jsonPath`],
  'a selectable list': [selectable('.spec.l'), `${V}.selectableFields[0].jsonPath`],
  'a selectable label': [selectable('.metadata.name'), `${V}.selectableFields[0].jsonPath`],
};

const ACCEPTED: Readonly<Record<string, object>> = {
  'an enum of nothing, which restricts nothing': field({ ...text, enum: [] }),
  'an int-or-string spelled out': field({
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    'x-kubernetes-int-or-string': true,
  }),
  'conditions on known fields': field({
    type: 'object',
    properties: { b: text },
    oneOf: [{ required: ['b'], properties: { b: { minLength: 2 } } }, { not: { required: ['b'] } }],
  }),
  'names restricted': one({
    schema: schema(
      { type: 'object' },
      { metadata: { type: 'object', properties: { name: { ...text, maxLength: 5 } } } },
    ),
  }),
  'a keyed list whose key has a default': field(
    keyed({ type: 'object', properties: { k: { ...text, default: 'x' } } }),
  ),
  'nested defaults': field({
    type: 'object',
    default: {},
    properties: { b: { type: 'integer', default: 3, maximum: 9 } },
  }),
  'a default that keeps what it does not know': field({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    default: { any: 1 },
  }),
  'rules that compare with what was': field(rule({ rule: 'self == oldSelf', messageExpression: '"was " + oldSelf' })),
  'long bounds': field({
    type: 'integer',
    maximum: 9223372036854775807n,
    default: 9223372036854775807n,
    format: 'int64',
  }),
  'a selectable field': selectable('.spec.a'),
};

describe('the validation of CustomResourceDefinitions', () => {
  for (const [what, [object, ...fields]] of Object.entries(REFUSED)) {
    it(`refuses ${what}`, () => assert.deepEqual(faults(object), fields));
  }

  for (const [what, object] of Object.entries(ACCEPTED)) {
    it(`accepts ${what}`, () => assert.deepEqual(definitionCauses(asDefinition(object), undefined), []));
  }

  it('accepts our own definitions and those of the recorded scenarios', () => {
    const files = ['../../kubectl/files/crds.yaml', '../../vectors/widgets.crd.yaml'];
    const recorded = files.flatMap(
      (file) => loadAll(readFileSync(join(import.meta.dirname, file), 'utf8')) as object[],
    );
    const ours = BUILT_IN_KINDS.filter((kind) => kind.origin === 'coppice').map(crdOf);
    for (const object of [...recorded, ...ours]) {
      assert.deepEqual(definitionCauses(asDefinition(object), undefined), []);
    }
    assert.ok(ours.length > 0);
  });

  it('calls a default a default', () => {
    const faulty = { type: 'object', properties: { b: { type: 'integer' } }, default: { b: 'x' } };
    for (const [schema, told] of [
      [{ ...text, default: 1 }, 'Invalid value: "integer": default in body must be of type string: "integer"'],
      [faulty, 'Invalid value: "string": default.b in body must be of type integer: "string"'],
    ] as const) {
      const [cause] = definitionCauses(asDefinition(field(schema)), undefined);
      assert.equal(cause?.message, told);
    }
  });

  it('keeps who a kind is once it is served', () => {
    const before = {
      ...asDefinition(definition()),
      status: {
        conditions: [{ type: 'Established', status: 'True', reason: '', message: '', lastTransitionTime: '' }],
      },
    } as CustomResourceDefinition;
    const fields = (after: object) => definitionCauses(asDefinition(after), before).map((cause) => cause.field);
    assert.deepEqual(fields(definition({ scope: 'Namespaced' }, { kind: 'Other' })), ['spec.scope', 'spec.names.kind']);
    assert.deepEqual(fields(definition({}, { shortNames: ['th'] })), []);
  });
});

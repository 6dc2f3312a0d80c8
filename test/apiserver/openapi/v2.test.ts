import assert from 'node:assert/strict';
import type { OpenSchema } from '../../../apiserver/openapi/document.ts';
import { OpenAPIDocuments } from '../../../apiserver/openapi/openapi-documents.ts';
import { V2_CONTENT_TYPE, v2Form } from '../../../apiserver/openapi/v2.ts';
import type { V2Part } from '../../../apiserver/openapi/v2-document.ts';
import { v2Definition, v2Schema } from '../../../apiserver/openapi/v2-schema.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import { defineKind, type Kind } from '../../../resources/meta/define-kind.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';
import { readGnosticDocument } from './read-gnostic.ts';

const ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const ANSWERED = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

const ODD = defineKind({
  ...GADGET,
  kind: 'Odd',
  plural: 'odds',
  group: 'odd.example.com',
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['count', 'maybe'],
        properties: {
          count: { type: 'integer', format: 'int64', minimum: 0, maximum: 2.5, exclusiveMaximum: true, default: 1 },
          maybe: { type: 'string', nullable: true, description: 'Or null.' },
          words: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 63, pattern: '^a' }, maxItems: 3 },
          choice: { type: 'string', enum: ['a', '\u{1f600}'], oneOf: [{ pattern: 'a' }, { pattern: 'b' }] },
          map: { type: 'object', additionalProperties: { type: 'number', multipleOf: 0.5 }, minProperties: 1 },
          open: { type: 'object', additionalProperties: true },
          raw: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } },
          either: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          template: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            properties: { spec: { type: 'object' } },
          },
        },
      },
    },
  },
});

const KINDS = [...BUILT_IN_KINDS, WIDGET, GADGET, ODD];

const documentsOf = (kinds: readonly Kind[]) => new OpenAPIDocuments({ kinds: () => kinds, version: 1 });
const parsed = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as V2Part & { swagger: string };
const whole = parsed(documentsOf(KINDS).v2('json').bytes);

describe('the OpenAPI v2 document', () => {
  it('is protobuf when asked so, under a media type that Go can parse, and JSON for anyone else', () => {
    assert.equal(V2_CONTENT_TYPE[v2Form(ASKED)], ANSWERED);
    assert.equal(v2Form(`${ASKED};q=0.9,application/json;q=0.8`), 'protobuf');
    for (const accept of ['application/json', '*/*', '', 'text/html', `application/json, ${ASKED}`]) {
      assert.equal(V2_CONTENT_TYPE[v2Form(accept)], 'application/json', accept);
    }
  });

  it('says the same in protobuf as in JSON', () => {
    assert.equal(whole.swagger, '2.0');
    assert.deepEqual(readGnosticDocument(documentsOf(KINDS).v2('protobuf').bytes), whole);
  });

  it('has every kind, names what it is and refers only to what it holds', () => {
    for (const kind of KINDS) {
      const gvk = { group: kind.group, version: kind.version, kind: kind.kind };
      const found = Object.values(whole.definitions).filter((one) =>
        ((one['x-kubernetes-group-version-kind'] ?? []) as object[]).some(
          (of) => JSON.stringify(of) === JSON.stringify(gvk),
        ),
      );
      assert.equal(found.length, 1, kind.kind);
      assert.ok(found[0]?.properties?.metadata?.$ref?.endsWith('.ObjectMeta'), kind.kind);
    }
    const references = [...JSON.stringify(whole).matchAll(/"\$ref":"(.*?)"/g)].map((match) => match[1] ?? '');
    assert.ok(references.length > 100);
    for (const reference of new Set(references)) {
      assert.ok(whole.definitions[reference.replace('#/definitions/', '')], reference);
    }
  });

  it('has the operations of a kind, with the body among their parameters', () => {
    const item = whole.paths['/apis/demo.example.com/v1/namespaces/{namespace}/widgets/{name}'];
    assert.deepEqual(item?.parameters?.map((one) => [one.name, one.in]).slice(0, 2), [
      ['name', 'path'],
      ['namespace', 'path'],
    ]);
    const { patch, get } = item ?? {};
    assert.equal(patch?.['x-kubernetes-action'], 'patch');
    assert.deepEqual(patch?.['x-kubernetes-group-version-kind'], {
      group: 'demo.example.com',
      version: 'v1',
      kind: 'Widget',
    });
    assert.ok(patch?.consumes.includes('application/apply-patch+yaml'));
    assert.deepEqual(
      patch?.parameters?.map((one) => one.name),
      ['body', 'dryRun', 'fieldManager', 'fieldValidation'],
    );
    assert.deepEqual(get?.produces, ['application/json', 'application/yaml']);
    assert.deepEqual(get?.responses['200']?.schema, { $ref: '#/definitions/com.example.demo.v1.Widget' });
    assert.equal(get?.responses['401']?.schema, undefined);
    const namespaces = whole.paths['/api/v1/namespaces'];
    assert.deepEqual(namespaces?.post?.consumes, [
      'application/json',
      'application/yaml',
      'application/vnd.kubernetes.protobuf',
    ]);
  });

  it('publishes how lists merge', () => {
    const parts = whole.definitions['com.example.demo.v1.Widget']?.properties?.spec?.properties?.parts;
    assert.deepEqual([parts?.['x-kubernetes-list-type'], parts?.['x-kubernetes-list-map-keys']], ['map', ['name']]);
    const meta = whole.definitions['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']?.properties;
    assert.equal(meta?.finalizers?.['x-kubernetes-patch-strategy'], 'merge');
    assert.equal(meta?.ownerReferences?.['x-kubernetes-patch-merge-key'], 'uid');
  });

  it('leaves out what it cannot say', () => {
    const spec = whole.definitions['com.example.odd.v1.Odd']?.properties?.spec;
    assert.deepEqual(spec?.required, ['count']);
    assert.deepEqual(spec?.properties?.maybe, { description: 'Or null.' });
    assert.deepEqual(spec?.properties?.choice, { type: 'string', enum: ['a', '\u{1f600}'] });
    assert.deepEqual(spec?.properties?.raw, { 'x-kubernetes-preserve-unknown-fields': true });
    assert.deepEqual(spec?.properties?.either, { 'x-kubernetes-int-or-string': true });
    assert.equal(spec?.properties?.open?.additionalProperties, true);
    assert.deepEqual(v2Schema({ type: 'array', description: 'd' }), { description: 'd' });
    const conditions: OpenSchema = { type: 'string', allOf: [{ pattern: 'a' }], not: { pattern: 'b' } };
    assert.deepEqual(v2Schema(conditions), { type: 'string' });
    const kept = { type: 'object', nullable: true, properties: { a: { type: 'string' } } } as const;
    assert.deepEqual(v2Schema(kept), {});
  });

  it('says nothing of the fields of a kind that keeps unknown ones', () => {
    const gvk = [{ group: 'g', version: 'v1', kind: 'K' }];
    const open = {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      'x-kubernetes-group-version-kind': gvk,
      properties: { spec: { type: 'object' } },
    } as const;
    assert.deepEqual(v2Definition(open), { type: 'object', 'x-kubernetes-group-version-kind': gvk });
  });
});

describe('the OpenAPI documents of a server', () => {
  /** A kind that counts how often it is described. */
  function counted(kind: Kind): { readonly kind: Kind; readonly count: () => number } {
    let times = 0;
    const { schema, ...rest } = kind;
    const counting = {
      ...rest,
      get schema() {
        times++;
        return schema;
      },
    };
    return { kind: counting, count: () => times };
  }

  it('are made once a change, and of what changed', () => {
    const [widget, odd] = [counted(WIDGET), counted(ODD)];
    const source = { served: [widget.kind, odd.kind], version: 1, kinds: () => source.served };
    const documents = new OpenAPIDocuments(source);
    const ask = () => [documents.v2('json').hash, documents.v2('protobuf').hash, ...documents.v3().keys()];
    const first = ask();
    const described = [widget.count(), odd.count()];
    for (let i = 0; i < 5; i++) assert.deepEqual(ask(), first);
    assert.deepEqual([widget.count(), odd.count()], described);

    source.served = [widget.kind, odd.kind, GADGET];
    assert.deepEqual(ask(), first, 'nothing is made before the version moves');
    source.version++;
    assert.notEqual(ask()[0], first[0]);
    assert.equal(odd.count(), described[1]);
    assert.ok(widget.count() > (described[0] ?? 0));
    assert.ok(parsed(documents.v2('json').bytes).definitions['com.example.demo.v1.Gadget']);
    source.served = [odd.kind];
    source.version++;
    assert.deepEqual([...documents.v3().keys()], ['apis/odd.example.com/v1']);
  });
});

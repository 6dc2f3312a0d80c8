import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonPath } from '../../apiserver/table/json-path.ts';
import { generatedFiles } from '../../bin/generate.ts';
import { BUILT_IN_KINDS } from '../../resources/kinds.ts';
import { crdOf } from '../../resources/meta/crd-of.ts';
import { defineKind } from '../../resources/meta/define-kind.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { WIDGET } from '../builders/widget.ts';
import { MANIFESTS, wrongWith } from './manifest.ts';

const OURS = BUILT_IN_KINDS.filter((kind) => kind.origin === 'coppice');
const schemaOf = (crd: ReturnType<typeof crdOf>): Schema => crd.spec.versions[0].schema.openAPIV3Schema;

/** What a Kubernetes server refuses in a schema (kubernetes.io, "Specifying a structural schema" and "Defaulting"). */
function* refused(schema: Schema, path: string): Generator<string> {
  const untyped =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema.type === undefined && !untyped) yield `${path} has no type`;
  if (Object.keys(schema).some((key) => key.startsWith('x-') && !key.startsWith('x-kubernetes-'))) {
    yield `${path} has an extension that is not Kubernetes'`;
  }
  if (schema.properties !== undefined && schema.additionalProperties !== undefined) {
    yield `${path} has both properties and additionalProperties`;
  }
  if ((schema.type === 'array') !== (schema.items !== undefined)) yield `${path} is an array without items`;
  if (schema.default !== undefined && wrongWith(schema, schema.default).length > 0) {
    yield `${path} refuses its own default`;
  }
  for (const name of schema.required ?? []) if (!schema.properties?.[name]) yield `${path} requires an unknown ${name}`;
  yield* refusedList(schema, path);
  for (const [name, child] of Object.entries(schema.properties ?? {})) yield* refused(child, `${path}.${name}`);
  if (schema.items !== undefined) yield* refused(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === 'object') yield* refused(schema.additionalProperties, `${path}{}`);
}

function* refusedList(schema: Schema, path: string): Generator<string> {
  const scalar = (type: Schema['type']) => type !== undefined && type !== 'object' && type !== 'array';
  const list = schema['x-kubernetes-list-type'];
  if (list === 'set' && !scalar(schema.items?.type)) yield `${path} is a set of things that are not scalars`;
  if ((list === 'map') !== (schema['x-kubernetes-list-map-keys'] !== undefined)) yield `${path} lacks its keys`;
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const field = schema.items?.properties?.[key];
    if (!scalar(field?.type)) yield `${path} has a key ${key} that is not a scalar`;
    if (!schema.items?.required?.includes(key) && field?.default === undefined) yield `${path} may lack its key ${key}`;
  }
}

/** The schema a plain path of fields leads to. */
const fieldAt = (schema: Schema, path: string): Schema | undefined =>
  path
    .split('.')
    .slice(1)
    .reduce<Schema | undefined>((at, name) => at?.properties?.[name], schema);

describe('the committed CRDs', () => {
  const files = generatedFiles();

  it('are those of our kinds, and no others', () => {
    const there = readdirSync(join(MANIFESTS, 'crds')).map((name) => `manifests/crds/${name}`);
    assert.ok(files.size >= 5);
    assert.deepEqual(there.sort(), [...files.keys()].sort());
  });

  for (const [path, text] of files) {
    it(`are what npm run generate writes: ${path}`, () => {
      const committed = readFileSync(join(MANIFESTS, '..', path), 'utf8');
      assert.equal(committed, text, `run npm run generate`);
      assert.match(text, /^# Generated /);
    });
  }
});

describe('the CRD of a kind', () => {
  for (const kind of OURS) {
    it(`is one a Kubernetes server accepts: ${kind.kind}`, () => {
      const crd = crdOf(kind);
      const schema = schemaOf(crd);
      assert.equal(schema.type, 'object');
      assert.deepEqual([...refused(schema, kind.kind)], []);
      const version = crd.spec.versions[0];
      assert.equal(version.additionalPrinterColumns.at(-1)?.name, 'Age');
      for (const column of version.additionalPrinterColumns) assert.ok(parseJsonPath(column.jsonPath), column.jsonPath);
      for (const { jsonPath } of version.selectableFields ?? []) {
        assert.ok(['string', 'integer', 'boolean'].includes(fieldAt(schema, jsonPath)?.type ?? ''), jsonPath);
      }
    });
  }

  it('names, scopes and opens it as the kind says', () => {
    const vms = crdOf(OURS.find((kind) => kind.kind === 'VM') ?? assert.fail());
    assert.equal(vms.metadata.name, 'vms.coppice.dev');
    assert.equal(vms.spec.scope, 'Namespaced');
    assert.deepEqual(vms.spec.names, {
      plural: 'vms',
      singular: 'vm',
      kind: 'VM',
      listKind: 'VMList',
      shortNames: ['vm'],
      categories: ['coppice', 'all'],
    });
    assert.deepEqual(vms.spec.versions[0].selectableFields, [
      { jsonPath: '.spec.hostName' },
      { jsonPath: '.status.phase' },
    ]);
    assert.deepEqual(vms.spec.versions[0].subresources, { status: {} });
    assert.deepEqual(crdOf(WIDGET).spec.versions[0].subresources, { status: {}, scale: WIDGET.scale });
    assert.equal(crdOf(OURS[0] ?? assert.fail()).spec.scope, 'Cluster');
  });

  it('keeps a default its schema accepts, and asks for the field where it does not', () => {
    const kind = defineKind({
      ...WIDGET,
      schema: {
        type: 'object',
        properties: {
          open: { type: 'object', default: {}, properties: { a: { type: 'string', default: 'b' } } },
          closed: { type: 'object', default: {}, required: ['a'], properties: { a: { type: 'string' } } },
        },
      },
    });
    const schema = schemaOf(crdOf(kind));
    assert.deepEqual(schema.required, ['closed']);
    assert.deepEqual(schema.properties?.open?.default, {});
    assert.equal(schema.properties?.closed?.default, undefined);
    assert.deepEqual(schema.properties?.closed?.required, ['a']);
  });
});

import assert from 'node:assert/strict';
import type { OpenAPIDocument, Operation } from '../../../apiserver/openapi/document.ts';
import { OpenAPIDocuments } from '../../../apiserver/openapi/openapi-documents.ts';
import { openAPIDocument, openAPIIndex } from '../../../apiserver/openapi/v3.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import { defineKind, type Kind } from '../../../resources/meta/define-kind.ts';
import { isObject } from '../../../resources/meta/object.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';

const KINDS = [...BUILT_IN_KINDS, WIDGET, GADGET];
const served = (kinds: readonly Kind[]) => new OpenAPIDocuments({ kinds: () => kinds, version: 1 });
const groupOf = (group: string) => openAPIDocument(KINDS.filter((kind) => kind.group === group));
const demo = groupOf('demo.example.com');
const ours = groupOf('coppice.dev');
const core = groupOf('');
const coordination = groupOf('coordination.k8s.io');
const authentication = groupOf('authentication.k8s.io');
const DOCUMENTS: readonly OpenAPIDocument[] = [demo, ours, core, coordination];

function* walk(value: unknown): Generator<Record<string, unknown>> {
  if (Array.isArray(value)) for (const item of value) yield* walk(item);
  if (!isObject(value)) return;
  yield value;
  for (const child of Object.values(value)) yield* walk(child);
}

function operationsOf(document: OpenAPIDocument): readonly [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    (['get', 'post', 'put', 'patch', 'delete'] as const).flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [[`${method} ${path}`, operation] as [string, Operation]];
    }),
  );
}

const schema = (document: OpenAPIDocument, name: string) => document.components.schemas[name];

describe('the OpenAPI v3 documents', () => {
  it('are one a group and version, indexed by a hash of their bytes', () => {
    const documents = served(KINDS).v3();
    assert.deepEqual(
      [...documents.keys()],
      [
        'apis/coppice.dev/v1',
        'api/v1',
        'apis/apiextensions.k8s.io/v1',
        'apis/authentication.k8s.io/v1',
        'apis/authorization.k8s.io/v1',
        'apis/coordination.k8s.io/v1',
        'apis/demo.example.com/v1',
        'apis/events.k8s.io/v1',
      ],
    );
    const { paths } = openAPIIndex(documents);
    const hash = documents.get('api/v1')?.hash;
    assert.deepEqual(paths['api/v1'], { serverRelativeURL: `/openapi/v3/api/v1?hash=${hash}` });
    const changed = served([...BUILT_IN_KINDS, WIDGET]).v3();
    assert.equal(changed.get('api/v1')?.hash, hash);
    assert.notEqual(changed.get('apis/demo.example.com/v1')?.hash, documents.get('apis/demo.example.com/v1')?.hash);
  });

  it('refer only to what they hold', () => {
    for (const document of DOCUMENTS) {
      let seen = 0;
      for (const node of walk(document)) {
        if (typeof node.$ref !== 'string') continue;
        seen++;
        const name = node.$ref.replace('#/components/schemas/', '');
        assert.ok(document.components.schemas[name], `${node.$ref} leads nowhere`);
      }
      assert.ok(seen > 50);
    }
  });

  it('name schemas by the group reversed, built-ins by their Kubernetes names', () => {
    const gvk = (document: OpenAPIDocument, name: string) =>
      schema(document, name)?.['x-kubernetes-group-version-kind'];
    assert.deepEqual(gvk(ours, 'dev.coppice.v1.VM'), [{ group: 'coppice.dev', version: 'v1', kind: 'VM' }]);
    assert.deepEqual(gvk(ours, 'dev.coppice.v1.VMList'), [{ group: 'coppice.dev', version: 'v1', kind: 'VMList' }]);
    assert.deepEqual(gvk(core, 'io.k8s.api.core.v1.Namespace'), [{ group: '', version: 'v1', kind: 'Namespace' }]);
    assert.deepEqual(gvk(coordination, 'io.k8s.api.coordination.v1.Lease'), [
      { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease' },
    ]);
    assert.deepEqual(gvk(demo, 'com.example.demo.v1.Widget'), [
      { group: 'demo.example.com', version: 'v1', kind: 'Widget' },
    ]);
  });

  it('have on each kind that may be patched the PATCH that tells kubectl the server validates', () => {
    for (const kind of KINDS.filter(({ stored, verbs }) => stored && verbs.includes('patch'))) {
      const patches = operationsOf(groupOf(kind.group)).filter(
        ([, o]) => o['x-kubernetes-action'] === 'patch' && o['x-kubernetes-group-version-kind']?.kind === kind.kind,
      );
      assert.ok(patches.length > 0, kind.kind);
      const force = kind.origin === 'user' ? [] : ['force'];
      for (const [path, patch] of patches) {
        const names = patch.parameters?.filter((p) => p.in === 'query').map((p) => p.name);
        assert.deepEqual(names, ['dryRun', 'fieldManager', 'fieldValidation', ...force], path);
      }
    }
  });

  it('offer strategic merge for built-in kinds only', () => {
    const strategic = 'application/strategic-merge-patch+json';
    for (const document of DOCUMENTS) {
      const builtIn = document === core || document === coordination;
      for (const [path, operation] of operationsOf(document)) {
        if (!path.startsWith('patch ')) continue;
        const media = Object.keys(operation.requestBody?.content ?? {});
        assert.ok(media.includes('application/apply-patch+yaml') && media.includes('application/merge-patch+json'));
        assert.equal(media.includes(strategic), builtIn, path);
      }
    }
  });

  it('have of a question its creation and no list, and of an action its own kind', () => {
    const base = '/apis/authentication.k8s.io/v1';
    assert.deepEqual(
      operationsOf(authentication).map(([path, o]) => [path, o['x-kubernetes-group-version-kind']?.kind]),
      [
        [`get ${base}/`, undefined],
        [`post ${base}/selfsubjectreviews`, 'SelfSubjectReview'],
        [`post ${base}/tokenreviews`, 'TokenReview'],
      ],
    );
    assert.equal(schema(authentication, 'io.k8s.api.authentication.v1.TokenReviewList'), undefined);
    const path = '/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token';
    const gvk = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
    assert.deepEqual(core.paths[path]?.post?.['x-kubernetes-group-version-kind'], gvk);
    assert.deepEqual(Object.keys(core.paths[path] ?? {}), ['parameters', 'post']);
    assert.ok(schema(core, 'io.k8s.api.authentication.v1.TokenRequest')?.properties?.spec);
  });

  it('have no operation that is not served', () => {
    const { '/api/v1/namespaces': namespaces } = core.paths;
    assert.deepEqual([namespaces?.delete, namespaces?.post !== undefined], [undefined, true]);
  });

  it('have every path and operation of a kind', () => {
    const base = '/apis/demo.example.com/v1';
    assert.deepEqual(
      operationsOf(demo).map(([path, o]) => [
        path,
        o['x-kubernetes-action'],
        o['x-kubernetes-group-version-kind']?.kind,
      ]),
      [
        [`get ${base}/widgets`, 'list', 'Widget'],
        [`get ${base}/namespaces/{namespace}/widgets`, 'list', 'Widget'],
        [`post ${base}/namespaces/{namespace}/widgets`, 'post', 'Widget'],
        [`delete ${base}/namespaces/{namespace}/widgets`, 'deletecollection', 'Widget'],
        [`get ${base}/namespaces/{namespace}/widgets/{name}`, 'get', 'Widget'],
        [`put ${base}/namespaces/{namespace}/widgets/{name}`, 'put', 'Widget'],
        [`patch ${base}/namespaces/{namespace}/widgets/{name}`, 'patch', 'Widget'],
        [`delete ${base}/namespaces/{namespace}/widgets/{name}`, 'delete', 'Widget'],
        [`get ${base}/namespaces/{namespace}/widgets/{name}/status`, 'get', 'Widget'],
        [`put ${base}/namespaces/{namespace}/widgets/{name}/status`, 'put', 'Widget'],
        [`patch ${base}/namespaces/{namespace}/widgets/{name}/status`, 'patch', 'Widget'],
        [`get ${base}/namespaces/{namespace}/widgets/{name}/scale`, 'get', 'Scale'],
        [`put ${base}/namespaces/{namespace}/widgets/{name}/scale`, 'put', 'Scale'],
        [`patch ${base}/namespaces/{namespace}/widgets/{name}/scale`, 'patch', 'Scale'],
        [`get ${base}/gadgets`, 'list', 'Gadget'],
        [`post ${base}/gadgets`, 'post', 'Gadget'],
        [`delete ${base}/gadgets`, 'deletecollection', 'Gadget'],
        [`get ${base}/gadgets/{name}`, 'get', 'Gadget'],
        [`put ${base}/gadgets/{name}`, 'put', 'Gadget'],
        [`patch ${base}/gadgets/{name}`, 'patch', 'Gadget'],
        [`delete ${base}/gadgets/{name}`, 'delete', 'Gadget'],
      ],
    );
    assert.ok(core.paths['/api/v1/']?.get);
    assert.ok(core.paths['/api/v1/namespaces/{name}/finalize']?.put);
    const exec = ours.paths['/apis/coppice.dev/v1/namespaces/{namespace}/vms/{name}/exec'];
    assert.equal(exec?.post?.['x-kubernetes-action'], 'connect');
  });

  it('give each operation an id of its own, and each path its parameters', () => {
    for (const document of DOCUMENTS) {
      const ids = operationsOf(document).map(([, operation]) => operation.operationId);
      assert.equal(new Set(ids).size, ids.length);
      for (const [path, item] of Object.entries(document.paths)) {
        const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();
        const declared = (item.parameters ?? []).filter((p) => p.in === 'path').map((p) => p.name);
        assert.deepEqual(declared.sort(), named, path);
      }
    }
  });

  it("publish list semantics, and say in words who writes a field that is not the user's", () => {
    const spec = schema(demo, 'com.example.demo.v1.Widget')?.properties?.spec;
    assert.equal(spec?.properties?.parts?.['x-kubernetes-list-type'], 'map');
    assert.deepEqual(spec?.properties?.parts?.['x-kubernetes-list-map-keys'], ['name']);
    assert.equal(spec?.properties?.owner?.['x-kubernetes-map-type'], 'atomic');
    assert.equal(spec?.properties?.port?.['x-kubernetes-int-or-string'], true);
    assert.equal(spec?.properties?.anything?.['x-kubernetes-preserve-unknown-fields'], true);
    assert.deepEqual(spec?.required, ['size']);
    const host = schema(ours, 'dev.coppice.v1.VM')?.properties?.spec?.properties?.hostName;
    assert.equal(host?.description, 'The host it is bound to. Written by placement or drain.');
    for (const document of DOCUMENTS) {
      for (const node of walk(document)) assert.ok(!Object.keys(node).some((key) => key.startsWith('x-coppice')));
    }
  });

  it("say of Kubernetes' own kinds how a strategic merge patch treats their lists, and not which fields may be null", () => {
    const secrets = { type: 'array', items: { type: 'object' } } as const;
    const fields = { secrets, other: secrets, when: { type: 'string', nullable: true } } as const;
    const kinds = (['core', 'user'] as const).map((origin) =>
      defineKind({ ...GADGET, group: '', origin, schema: { type: 'object', properties: fields } }),
    );
    const [own, users] = kinds.map((kind) => Object.values(openAPIDocument([kind]).components.schemas));
    const found = (schemas: typeof own) => schemas?.find((one) => one.properties?.secrets)?.properties;
    assert.deepEqual(
      [found(own)?.secrets?.['x-kubernetes-patch-strategy'], found(own)?.secrets?.['x-kubernetes-patch-merge-key']],
      ['merge', 'name'],
    );
    assert.deepEqual(found(own)?.other, secrets);
    assert.deepEqual(found(own)?.when, { type: 'string' });
    assert.deepEqual(found(users)?.secrets, secrets);
    assert.equal(found(users)?.when?.nullable, true);
  });

  it('make metadata a reference, whatever the schema of a kind says of it', () => {
    const name = defineKind({
      ...GADGET,
      schema: { type: 'object', properties: { metadata: { type: 'object' }, template: embedded } },
    });
    const described = schema(openAPIDocument([name]), 'com.example.demo.v1.Gadget')?.properties;
    const reference = [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }];
    assert.deepEqual(described?.metadata?.allOf, reference);
    assert.deepEqual(Object.keys(described?.template?.properties ?? {}), ['apiVersion', 'kind', 'spec', 'metadata']);
    assert.deepEqual(described?.template?.properties?.metadata?.allOf, reference);
  });
});

const embedded = {
  type: 'object',
  'x-kubernetes-embedded-resource': true,
  properties: { spec: { type: 'object' } },
} as const;

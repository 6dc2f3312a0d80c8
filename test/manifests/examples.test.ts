import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT_IN_KINDS } from '../../resources/kinds.ts';
import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { kindOf, loadManifest, loadManifests, MANIFESTS, wrongWith } from './manifest.ts';

/** Fields users write that an example leaves out, shows more than once, or gives another value than the default. */
function* notShown(schema: Schema, value: unknown, path: string): Generator<string> {
  if (schema['x-coppice-writer'] !== undefined) {
    if (value !== undefined) yield `${path} is not the user's to write`;
    return;
  }
  if (value === undefined) {
    yield `${path} is missing`;
    return;
  }
  if (schema.default !== undefined && !isObject(schema.default)) {
    if (value !== schema.default) yield `${path} is not its default, ${schema.default}`;
  }
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    yield* notShown(child, isObject(value) ? value[name] : undefined, `${path}.${name}`);
  }
  if (schema.items?.properties !== undefined) {
    const items = Array.isArray(value) ? value : [];
    if (items.length !== 1) yield `${path} has ${items.length} items instead of 1`;
    yield* notShown(schema.items, items[0], `${path}[0]`);
  }
}

/** Nodelets create these. */
const NOT_BY_USERS = ['Host'];

describe('example manifests', () => {
  const files = readdirSync(join(MANIFESTS, 'examples'));

  it('are there for each of our kinds that users create', () => {
    const ours = BUILT_IN_KINDS.filter((kind) => kind.origin === 'coppice' && !NOT_BY_USERS.includes(kind.kind));
    assert.deepEqual(files.sort(), ours.map((kind) => `${kind.singular}.yaml`).sort());
  });

  for (const file of files) {
    it(`show in ${file} an object its schema accepts, every field once with its default`, () => {
      const object = loadManifest(join('examples', file));
      const kind = kindOf(object);
      const { apiVersion: _, kind: __, metadata, ...fields } = object;
      assert.deepEqual(wrongWith(kind.schema, fields), []);
      assert.equal(isObject(metadata) && 'namespace' in metadata, kind.namespaced);
      const spec = kind.schema.properties?.spec;
      assert.ok(spec);
      assert.deepEqual([...notShown(spec, fields.spec, 'spec')], []);
    });
  }
});

describe('the quickstart', () => {
  it('is a kustomization of resources only, each a manifest beside it', () => {
    const folder = join(MANIFESTS, 'quickstart');
    const kustomization = loadManifest('quickstart/kustomization.yaml');
    assert.deepEqual(kustomization, { resources: ['tenant.yaml', 'image.yaml', 'vm.yaml'] });
    assert.deepEqual(readdirSync(folder).sort(), ['image.yaml', 'kustomization.yaml', 'tenant.yaml', 'vm.yaml']);
  });

  it('is the tenant demo and its VM hello of one vCPU and 128Mi, from an image named without place or digest', () => {
    const [tenant, image, vm] = ['tenant', 'image', 'vm'].map((name) => loadManifest(`quickstart/${name}.yaml`));
    for (const object of [tenant, image, vm]) {
      assert.ok(object);
      const { apiVersion: _, kind: __, metadata: ___, ...fields } = object;
      assert.deepEqual(wrongWith(kindOf(object).schema, fields), []);
    }
    assert.deepEqual(tenant?.metadata, { name: 'demo' });
    assert.deepEqual(image?.metadata, { name: 'tiny-linux' });
    assert.deepEqual(image?.spec, {
      displayName: 'Tiny Linux',
      guestOS: 'linux',
      source: { path: 'tiny-linux' },
      defaults: { vcpus: 1, memory: '128Mi' },
    });
    assert.deepEqual(vm?.metadata, { name: 'hello', namespace: 'demo' });
    assert.deepEqual(vm?.spec, { image: 'tiny-linux', size: { vcpus: 1, memory: '128Mi' } });
  });
});

describe('the example of a fleet in Git', () => {
  const folder = join(MANIFESTS, 'gitops-example');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'));
  const objects = files
    .filter((file) => !file.endsWith('kustomization.yaml') && !file.startsWith('applyset'))
    .flatMap((file) => loadManifests(join('gitops-example', file)));

  it('has objects that their schemas accept', () => {
    for (const object of objects) {
      const { apiVersion: _, kind: __, metadata: ___, ...fields } = object;
      assert.deepEqual(wrongWith(kindOf(object).schema, fields), [], JSON.stringify(object.metadata));
    }
  });

  it('is of two tenants, each with its Namespace beside it, whose leases may be deleted at any time', () => {
    const named = (kind: string) => objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata);
    assert.deepEqual(named('Tenant'), [{ name: 'mobile' }, { name: 'web' }]);
    assert.deepEqual(named('Namespace'), named('Tenant'));
    const policies = objects.flatMap(({ kind, spec }) =>
      kind === 'Lease' || kind === 'LeaseSet' ? [JSON.stringify(spec).match(/"releasePolicy":"(\w+)"/)?.[1]] : [],
    );
    assert.deepEqual(policies, ['WhenAllowed', 'WhenAllowed']);
  });
});

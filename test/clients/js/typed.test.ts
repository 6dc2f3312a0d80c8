import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ApiException,
  ApiextensionsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  loadAllYaml,
  PatchStrategy,
  setHeaderOptions,
  VersionApi,
} from '@kubernetes/client-node';
import { isObject, type KubeObject, valueAt } from '../../../resources/meta/object.ts';
import { until } from '../../harness/until.ts';
import { ClientWorld } from '../client-world.ts';

const CRDS = join(import.meta.dirname, '../../kubectl/files/crds.yaml');
const WIDGETS = { group: 'demo.example.com', version: 'v1', namespace: 'default', plural: 'widgets' };
const WIDGET = { apiVersion: 'demo.example.com/v1', kind: 'Widget' };

/** What a refused call was told: its code and the Status, which this client leaves as text for custom objects. */
async function refusal(call: Promise<unknown>): Promise<{ code: number; reason: unknown; message: unknown }> {
  const error = await call.then(
    () => assert.fail('was not refused'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ApiException, String(error));
  const status: unknown = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
  return { code: error.code, reason: valueAt(status, ['reason']), message: valueAt(status, ['message']) };
}

function asObject(value: unknown): KubeObject {
  assert.ok(isKubeObject(value), JSON.stringify(value));
  return value;
}

const isKubeObject = (value: unknown): value is KubeObject => isObject(value) && isObject(value.metadata);

describe('the APIs of @kubernetes/client-node', function () {
  this.timeout(30_000);
  let world: ClientWorld;
  let core: CoreV1Api;
  let custom: CustomObjectsApi;
  let objects: KubernetesObjectApi;
  let config: KubeConfig;

  before(async () => {
    world = await ClientWorld.open();
    config = new KubeConfig();
    config.loadFromFile(world.kubeconfig);
    core = config.makeApiClient(CoreV1Api);
    custom = config.makeApiClient(CustomObjectsApi);
    objects = KubernetesObjectApi.makeApiClient(config);
    for (const definition of loadAllYaml(await readFile(CRDS, 'utf8'))) await objects.create(definition);
  });
  after(() => world?.[Symbol.asyncDispose]());

  it('a version, and definitions that are established', async () => {
    assert.match((await config.makeApiClient(VersionApi).getCode()).gitVersion, /^v1\.\d+\.\d+/);
    const { status } = await config
      .makeApiClient(ApiextensionsV1Api)
      .readCustomResourceDefinition({ name: 'widgets.demo.example.com' });
    assert.deepEqual(
      status?.conditions?.map(({ type, status }) => `${type}=${status}`),
      ['NamesAccepted=True', 'Established=True'],
    );
  });

  describe('CoreV1Api', () => {
    it('namespaces: made without kind, changed by each patch, and gone in the end', async () => {
      const made = await core.createNamespace({ body: { metadata: { name: 'js', labels: { a: '1' } } } });
      assert.equal(made.status?.phase, 'Active');
      assert.ok(made.metadata?.creationTimestamp instanceof Date);
      const name = 'js';
      const json = await core.patchNamespace({ name, body: [{ op: 'add', path: '/metadata/labels/b', value: '2' }] });
      assert.equal(json.metadata?.labels?.b, '2');
      const merged = await core.patchNamespace(
        { name, body: { metadata: { labels: { a: null } } } },
        setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
      );
      assert.equal(merged.metadata?.labels?.a, undefined);
      const strategic = await core.patchNamespace(
        { name, body: { metadata: { labels: { c: '3' } } } },
        setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
      );
      assert.deepEqual(strategic.metadata?.labels, { b: '2', c: '3', 'kubernetes.io/metadata.name': 'js' });
      const { items } = await core.listNamespace({ labelSelector: 'b in (2),!a' });
      assert.deepEqual(
        items.map(({ metadata }) => metadata?.name),
        ['js'],
      );
      await core.deleteNamespace({ name });
      await until('the namespace is gone', async () =>
        core.readNamespace({ name }).then(
          () => false,
          (error: unknown) => error instanceof ApiException && error.code === 404,
        ),
      );
    });

    it('a page at a time, and a replacement only of what was read', async () => {
      const wanted = ['page-1', 'page-2', 'page-3'];
      for (const name of wanted) await core.createNamespace({ body: { metadata: { name, labels: { page: 'y' } } } });
      const pages: (string | undefined)[][] = [];
      let _continue: string | undefined;
      do {
        const options = { labelSelector: 'page=y', limit: 1, ...(_continue === undefined ? {} : { _continue }) };
        const { items, metadata } = await core.listNamespace(options);
        pages.push(items.map((item) => item.metadata?.name));
        _continue = metadata?._continue;
      } while (_continue !== undefined && _continue !== '');
      assert.deepEqual(
        pages,
        wanted.map((name) => [name]),
      );
      const read = await core.readNamespace({ name: 'page-1' });
      const changed = await core.replaceNamespace({
        name: 'page-1',
        body: { ...read, metadata: { ...read.metadata, annotations: { x: 'y' } } },
      });
      assert.notEqual(changed.metadata?.resourceVersion, read.metadata?.resourceVersion);
      assert.deepEqual(await refusal(core.replaceNamespace({ name: 'page-1', body: read })), {
        code: 409,
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on namespaces "page-1": the object has been modified; please apply your changes to the latest version and try again',
      });
    });

    it('config maps and secrets: data of both kinds, a strategic patch, an immutable one', async () => {
      const namespace = 'default';
      const made = await core.createNamespacedConfigMap({
        namespace,
        body: { metadata: { name: 'config' }, data: { a: '1', b: '2' }, binaryData: { c: 'AAE=' } },
      });
      assert.deepEqual([made.data, made.binaryData], [{ a: '1', b: '2' }, { c: 'AAE=' }]);
      const patched = await core.patchNamespacedConfigMap(
        { namespace, name: 'config', body: { data: { a: null, d: '4' } } },
        setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
      );
      assert.deepEqual(patched.data, { b: '2', d: '4' });
      const secret = await core.createNamespacedSecret({
        namespace,
        body: { metadata: { name: 'secret' }, stringData: { key: 'value' }, immutable: true },
      });
      assert.deepEqual([secret.type, secret.data, secret.stringData], ['Opaque', { key: 'dmFsdWU=' }, undefined]);
      const changed = { ...secret, data: { key: 'b3RoZXI=' } };
      const { code, message } = await refusal(
        core.replaceNamespacedSecret({ namespace, name: 'secret', body: changed }),
      );
      assert.equal(code, 422);
      assert.match(String(message), /field is immutable when `immutable` is set/);
    });

    it('events, found by what they are about', async () => {
      const event = (name: string, about: string) =>
        core.createNamespacedEvent({
          namespace: 'default',
          body: {
            metadata: { name },
            involvedObject: { kind: 'Widget', name: about, namespace: 'default' },
            reason: 'Tried',
            type: 'Normal',
            firstTimestamp: new Date(0),
          },
        });
      await event('e1', 'w1');
      await event('e2', 'w2');
      const { items } = await core.listNamespacedEvent({
        namespace: 'default',
        fieldSelector: 'involvedObject.name=w2,involvedObject.kind=Widget',
      });
      assert.deepEqual(
        items.map(({ metadata, firstTimestamp }) => [metadata.name, firstTimestamp?.getTime()]),
        [['e2', 0]],
      );
    });
  });

  describe('CustomObjectsApi', () => {
    const widget = (name: string, spec: object) => ({ ...WIDGET, metadata: { name }, spec });

    it('objects of a defined kind: defaults, status apart, scale', async () => {
      const made = asObject(
        await custom.createNamespacedCustomObject({ ...WIDGETS, body: widget('scaled', { size: 'small' }) }),
      );
      assert.equal(valueAt(made, ['spec', 'color']), 'grey');
      const status = await custom.patchNamespacedCustomObjectStatus(
        { ...WIDGETS, name: 'scaled', body: { status: { phase: 'Done', replicas: 4 }, spec: { size: 'large' } } },
        setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
      );
      assert.deepEqual(
        [valueAt(status, ['status', 'phase']), valueAt(status, ['spec', 'size']), asObject(status).metadata.generation],
        ['Done', 'small', 1],
      );
      const scale = await custom.getNamespacedCustomObjectScale({ ...WIDGETS, name: 'scaled' });
      assert.deepEqual([valueAt(scale, ['kind']), valueAt(scale, ['status', 'replicas'])], ['Scale', 4]);
      await custom.patchNamespacedCustomObjectScale(
        { ...WIDGETS, name: 'scaled', body: { spec: { replicas: 7 } } },
        setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
      );
      const read = asObject(await custom.getNamespacedCustomObject({ ...WIDGETS, name: 'scaled' }));
      assert.deepEqual([valueAt(read, ['spec', 'replicas']), read.metadata.generation], [7, 2]);
      const gone = await custom.deleteNamespacedCustomObject({ ...WIDGETS, name: 'scaled' });
      assert.deepEqual([valueAt(gone, ['status']), valueAt(gone, ['details', 'uid'])], ['Success', read.metadata.uid]);
    });

    it('refusals as a Status: invalid, there already, not there, a patch of a type it has not', async () => {
      const create = (name: string, spec: object) =>
        custom.createNamespacedCustomObject({ ...WIDGETS, body: widget(name, spec) });
      const invalid = await refusal(create('bad', { size: 'huge', replicas: 101 }));
      assert.deepEqual([invalid.code, invalid.reason], [422, 'Invalid']);
      assert.match(String(invalid.message), /spec\.size: Unsupported value: "huge"/);
      await create('twice', { size: 'small' });
      assert.deepEqual(await refusal(create('twice', { size: 'small' })), {
        code: 409,
        reason: 'AlreadyExists',
        message: 'widgets.demo.example.com "twice" already exists',
      });
      assert.deepEqual(await refusal(custom.getNamespacedCustomObject({ ...WIDGETS, name: 'none' })), {
        code: 404,
        reason: 'NotFound',
        message: 'widgets.demo.example.com "none" not found',
      });
      const strategic = custom.patchNamespacedCustomObject(
        { ...WIDGETS, name: 'twice', body: {} },
        setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
      );
      const { code, reason } = await refusal(strategic);
      assert.deepEqual([code, reason], [415, 'UnsupportedMediaType']);
    });

    it('a finalizer holds an object until it is taken off', async () => {
      const body = { ...widget('held', { size: 'small' }), metadata: { name: 'held', finalizers: ['example.com/x'] } };
      await custom.createNamespacedCustomObject({ ...WIDGETS, body });
      const held = asObject(await custom.deleteNamespacedCustomObject({ ...WIDGETS, name: 'held' }));
      assert.ok(held.metadata.deletionTimestamp !== undefined);
      await custom.patchNamespacedCustomObject({
        ...WIDGETS,
        name: 'held',
        body: [{ op: 'remove', path: '/metadata/finalizers' }],
      });
      assert.equal((await refusal(custom.getNamespacedCustomObject({ ...WIDGETS, name: 'held' }))).code, 404);
    });

    it('a collection deleted by label, in its namespace only', async () => {
      for (const [name, app] of Object.entries({ c1: 'x', c2: 'x', c3: 'y' })) {
        const body = { ...widget(name, { size: 'small' }), metadata: { name, labels: { app } } };
        await custom.createNamespacedCustomObject({ ...WIDGETS, body });
      }
      await custom.deleteCollectionNamespacedCustomObject({ ...WIDGETS, labelSelector: 'app=x' });
      const left = await custom.listNamespacedCustomObject({ ...WIDGETS, labelSelector: 'app' });
      const items = valueAt(left, ['items']);
      assert.ok(Array.isArray(items));
      assert.deepEqual(
        items.map((item) => asObject(item).metadata.name),
        ['c3'],
      );
    });
  });

  describe('KubernetesObjectApi', () => {
    const config = (spec: object) => ({ ...WIDGET, metadata: { name: 'applied', namespace: 'default' }, spec });
    const apply = (spec: object, manager: string, force = false) =>
      objects.patch(config(spec), undefined, undefined, manager, force, PatchStrategy.ServerSideApply);

    it('applies on the server: owners, a conflict, force, and what is no longer said goes', async () => {
      const first = asObject(await apply({ size: 'small', replicas: 2, tags: ['a'] }, 'one'));
      assert.deepEqual(
        asObject(first).metadata.managedFields?.map(({ manager, operation }) => [manager, operation]),
        [['one', 'Apply']],
      );
      const same = asObject(await apply({ size: 'small', replicas: 2, tags: ['a'] }, 'one'));
      assert.equal(same.metadata.resourceVersion, first.metadata.resourceVersion);
      const { code, message } = await refusal(apply({ size: 'small', replicas: 3 }, 'two'));
      assert.equal(code, 409);
      assert.match(String(message), /conflict with "one": \.spec\.replicas/);
      assert.equal(valueAt(await apply({ size: 'small', replicas: 3 }, 'two', true), ['spec', 'replicas']), 3);
      const without = await apply({ size: 'small' }, 'one');
      assert.deepEqual([valueAt(without, ['spec', 'tags']), valueAt(without, ['spec', 'replicas'])], [undefined, 3]);
    });

    it('tries a change without making it', async () => {
      const dry = asObject(
        await objects.create({ ...config({ size: 'small' }), metadata: { name: 'dry' } }, undefined, 'All'),
      );
      assert.equal(dry.metadata.name, 'dry');
      const read = objects.read({ ...WIDGET, metadata: { name: 'dry', namespace: 'default' } });
      assert.equal((await refusal(read)).code, 404);
    });

    it('lists, replaces and deletes by kind alone', async () => {
      const named = { ...WIDGET, metadata: { name: 'applied', namespace: 'default' } };
      const read = asObject(await objects.read(named));
      const replaced = asObject(await objects.replace({ ...read, spec: { size: 'large' } } as typeof named));
      assert.equal(replaced.metadata.generation, (read.metadata.generation ?? 0) + 1);
      const { items } = await objects.list(WIDGET.apiVersion, WIDGET.kind, 'default');
      assert.ok(items.some(({ metadata }) => metadata?.name === 'applied'));
      await objects.delete(named);
      assert.equal((await refusal(objects.read(named))).code, 404);
      await assert.rejects(objects.read({ ...named, kind: 'Nothing' }), /Unrecognized API version and kind/);
    });
  });
});

import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CoordinationV1Api,
  type Informer,
  KubeConfig,
  makeInformer,
  type ObjectCache,
  type V1Lease,
  Watch,
} from '@kubernetes/client-node';
import { until } from '../../harness/until.ts';
import { ClientWorld } from '../client-world.ts';
import { CuttingProxy } from '../cutting-proxy.ts';

const NAMESPACE = 'default';
/** How long a broken informer waits before it tries again. */
const RETRY_MS = 20;
const PATH = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;

/** What an informer told, one line a change, and its cache. */
class Follower {
  readonly told: string[] = [];
  /** By name, the version told last: what the events alone add up to. */
  readonly summed = new Map<string, string>();
  /** Its lists: one to begin with, one more for each 410. */
  lists = 0;
  readonly #informer: Informer<V1Lease> & ObjectCache<V1Lease>;
  #again: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(config: KubeConfig) {
    const api = config.makeApiClient(CoordinationV1Api);
    this.#informer = makeInformer(config, PATH, () => {
      this.lists++;
      return api.listNamespacedLease({ namespace: NAMESPACE });
    });
    for (const verb of ['add', 'update', 'delete'] as const)
      this.#informer.on(verb, (lease) => {
        const { name = '', resourceVersion = '' } = lease.metadata ?? {};
        this.told.push(`${verb} ${name}`);
        if (verb === 'delete') this.summed.delete(name);
        else this.summed.set(name, resourceVersion);
      });
    // The client stops for good at any error but 410: whoever uses it starts it again, but not at once.
    this.#informer.on('error', () => {
      this.#again = delay(RETRY_MS).then(() => (this.#stopped ? undefined : this.start()));
    });
  }

  async start(): Promise<void> {
    await this.#informer.start();
  }

  cached(): Record<string, string | undefined> {
    return Object.fromEntries(this.#informer.list().map(({ metadata }) => [metadata?.name, metadata?.resourceVersion]));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#again;
    await this.#informer.stop();
  }
}

function configFor(world: ClientWorld, port: number): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(world.kubeconfig);
  const cluster = config.getCurrentCluster();
  assert.ok(cluster !== null);
  config.clusters = [{ ...cluster, server: `https://127.0.0.1:${port}` }];
  return config;
}

describe('the informer of @kubernetes/client-node', function () {
  this.timeout(60_000);
  let world: ClientWorld;
  let proxy: CuttingProxy;
  let direct: CoordinationV1Api;
  let follower: Follower;

  const lease = (name: string, holderIdentity: string) => ({ metadata: { name }, spec: { holderIdentity } });
  const make = (name: string) => direct.createNamespacedLease({ namespace: NAMESPACE, body: lease(name, 'nobody') });
  const change = (name: string, holder: string) =>
    direct.patchNamespacedLease({
      namespace: NAMESPACE,
      name,
      body: [{ op: 'replace', path: '/spec/holderIdentity', value: holder }],
    });
  const remove = (name: string) => direct.deleteNamespacedLease({ namespace: NAMESPACE, name });
  const stored = async () => {
    const { items } = await direct.listNamespacedLease({ namespace: NAMESPACE });
    return Object.fromEntries(items.map(({ metadata }) => [metadata?.name, metadata?.resourceVersion]));
  };
  /** Waits for the cache to be what is stored, and answers what was told since the last call. */
  const settled = async () => {
    const want = JSON.stringify(await stored());
    const sorted = (of: Record<string, unknown>) => JSON.stringify(Object.fromEntries(Object.entries(of).sort()));
    await until('the informer has what is stored', () => sorted(follower.cached()) === want);
    assert.deepEqual(
      Object.fromEntries([...follower.summed].sort()),
      follower.cached(),
      'the events add up to the cache',
    );
    return follower.told.splice(0);
  };

  before(async () => {
    world = await ClientWorld.open();
    proxy = await CuttingProxy.open(world.port);
    direct = configFor(world, world.port).makeApiClient(CoordinationV1Api);
    follower = new Follower(configFor(world, proxy.port));
    await make('a');
    await make('b');
    await follower.start();
  });

  after(async () => {
    await follower?.stop();
    await proxy?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  it('tells what is there, then each change once', async () => {
    assert.deepEqual(await settled(), ['add a', 'add b']);
    await change('a', 'one');
    await make('c');
    await remove('b');
    assert.deepEqual(await settled(), ['update a', 'add c', 'delete b']);
  });

  it('goes on after a reset where it was, with nothing lost or told twice', async () => {
    for (const round of ['1', '2', '3']) {
      proxy.down();
      await make(`reset-${round}`);
      await change('a', `reset-${round}`);
      proxy.up();
      assert.deepEqual(await settled(), [`add reset-${round}`, 'update a']);
    }
    assert.equal(follower.lists, 1);
  });

  it('goes on after a restart of the server where it was, with nothing lost or told twice', async () => {
    await world.restart();
    await change('a', 'restarted');
    await remove('c');
    assert.deepEqual(await settled(), ['update a', 'delete c']);
    proxy.down();
    await make('before-restart');
    await world.restart();
    await make('after-restart');
    proxy.up();
    assert.deepEqual(await settled(), ['add before-restart', 'add after-restart']);
    assert.equal(follower.lists, 1);
  });

  it('lists again when the server has forgotten where it was, and tells only what differs', async () => {
    proxy.down();
    await make('missed');
    await make('never-seen');
    await change('a', 'missed');
    await remove('never-seen');
    await remove('reset-1');
    await world.restart({ forgetting: true });
    proxy.up();
    const told = await settled();
    assert.ok(!told.some((line) => line.endsWith('never-seen')));
    assert.deepEqual(told.filter((line) => !line.startsWith('update')).sort(), ['add missed', 'delete reset-1']);
    assert.equal(follower.lists, 2);
    await change('missed', 'live again');
    assert.deepEqual(await settled(), ['update missed']);
  });

  it('keeps up with many writers while the way to the server breaks again and again', async () => {
    const writer = async (name: string) => {
      await make(name);
      for (let turn = 0; turn < 15; turn++) await change(name, `${turn}`);
      if (name.endsWith('0')) await remove(name);
    };
    const writing = Promise.all(Array.from({ length: 6 }, (_, i) => writer(`writer-${i}`)));
    let over = false;
    const done = writing.finally(() => {
      over = true;
    });
    while (!over) {
      const before = follower.told.length;
      await until('it is told something', () => over || follower.told.length > before);
      proxy.cut();
    }
    await done;
    await settled();
    assert.equal(follower.lists, 2);
  });
});

describe('the watch of @kubernetes/client-node', () => {
  it('is told 410 by a server that has forgotten its version, and sees every change after one it knows', async function () {
    this.timeout(30_000);
    await using world = await ClientWorld.open();
    const config = configFor(world, world.port);
    const api = config.makeApiClient(CoordinationV1Api);
    const create = (name: string) => api.createNamespacedLease({ namespace: NAMESPACE, body: { metadata: { name } } });
    const first = await create('first');
    const events = async (resourceVersion: string | undefined, enough: number) => {
      const seen: { type: string; code: number | undefined; name: string | undefined }[] = [];
      const { promise, resolve } = Promise.withResolvers<void>();
      const request = await new Watch(config).watch(
        PATH,
        { resourceVersion, allowWatchBookmarks: true },
        (type: string, object: { code?: number; metadata?: { name?: string } }) => {
          if (type !== 'BOOKMARK') seen.push({ type, code: object.code, name: object.metadata?.name });
          if (seen.length === enough) resolve();
        },
        () => resolve(),
      );
      await promise;
      request.abort();
      return seen;
    };
    await create('second');
    await api.deleteNamespacedLease({ namespace: NAMESPACE, name: 'second' });
    assert.deepEqual(await events(first.metadata?.resourceVersion, 2), [
      { type: 'ADDED', code: undefined, name: 'second' },
      { type: 'DELETED', code: undefined, name: 'second' },
    ]);
    await world.restart({ forgetting: true });
    assert.deepEqual(await events(first.metadata?.resourceVersion, 1), [{ type: 'ERROR', code: 410, name: undefined }]);
  });
});

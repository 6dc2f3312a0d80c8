import type { App } from '../../apiserver/requests/server-request.ts';
import { MemoryStore } from '../../apiserver/store/memory/store.ts';
import type { Store } from '../../apiserver/store/store.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { pairOn } from './etcd-pair.ts';
import type { EtcdServer } from './etcd-server.ts';
import { FarStore } from './far-store.ts';
import { startTestServer } from './server.ts';

/** A store, and the servers over it in turn. */
export interface Place extends AsyncDisposable {
  readonly store: Store;
  app(i: number): App;
}

/** Two servers over a store in memory that answers late. */
export async function twoFarServers(): Promise<Place> {
  const ended = new AsyncDisposableStack();
  const store = ended.use(await MemoryStore.open({ ids: systemIds }));
  const tests = await Promise.all([0, 1].map(() => startTestServer({ store: new FarStore(store, () => 1) })));
  for (const test of tests) ended.use(test);
  const app = (i: number) => (tests[i % 2] as (typeof tests)[number]).server.app;
  return { store, app, [Symbol.asyncDispose]: () => ended.disposeAsync() };
}

/** Two servers over one etcd. */
export async function twoServersOn(etcd: EtcdServer): Promise<Place> {
  const pair = await pairOn(etcd);
  return {
    store: pair.stores[0],
    app: (i) => pair.app(i),
    [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose](),
  };
}

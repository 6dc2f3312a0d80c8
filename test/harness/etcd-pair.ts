import type { App } from '../../apiserver/requests/server-request.ts';
import { ROOM } from '../../apiserver/store/etcd/revisions.ts';
import type { EtcdStore, EtcdStoreOptions } from '../../apiserver/store/etcd/store.ts';
import { EtcdHome } from '../apiserver/store/etcd-home.ts';
import type { EtcdServer } from './etcd-server.ts';
import { startTestServer, type TestServer } from './server.ts';

/** Two servers on one etcd, in this process, each with a connection and a cache of its own. */
interface EtcdPair extends AsyncDisposable {
  readonly stores: readonly [EtcdStore, EtcdStore];
  readonly tests: readonly [TestServer, TestServer];
  /** One and the other by turns. */
  app(i: number): App;
}

/** With room for several transactions in one of etcd's revisions, as stores have that are made now. The second is opened otherwise if that is asked for. */
export async function pairOn(
  etcd: EtcdServer,
  options: Partial<EtcdStoreOptions> = {},
  servers: Parameters<typeof startTestServer>[0] = {},
): Promise<EtcdPair> {
  const ended = new AsyncDisposableStack();
  const home = ended.use(new EtcdHome(etcd));
  const stores = [await home.open({ room: ROOM }), await home.open({ room: ROOM, ...options })] as const;
  const start = (store: EtcdStore, name: string) => startTestServer({ ...servers, store, name });
  const tests = await Promise.all([start(stores[0], 'a'), start(stores[1], 'b')]);
  for (const test of tests) ended.use(test);
  return {
    stores,
    tests,
    app: (i) => (i % 2 === 0 ? tests[0] : tests[1]).server.app,
    [Symbol.asyncDispose]: () => ended.disposeAsync(),
  };
}

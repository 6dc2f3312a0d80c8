import { StoreHome } from '../apiserver/store/store-home.ts';
import { etcdForEach } from './etcd-for-each.ts';
import type { EtcdServer } from './etcd-server.ts';
import { startTestServer } from './server.ts';
import { type Place, twoServersOn } from './two-servers.ts';

/** The same tests over a file, where one server answers all, and over two servers on one etcd, which is skipped aloud where there is none. */
export function onBothStores(suite: (start: () => Promise<Place>) => void): void {
  describe('on sqlite', () => {
    suite(async () => {
      const ended = new AsyncDisposableStack();
      const store = await ended.use(await StoreHome.make()).open();
      const test = ended.use(await startTestServer({ store }));
      return { store, app: () => test.server.app, [Symbol.asyncDispose]: () => ended.disposeAsync() };
    });
  });

  describe('over two servers on one etcd', () => {
    let etcd: EtcdServer;
    etcdForEach((started) => {
      etcd = started;
    });
    suite(() => twoServersOn(etcd));
  });
}

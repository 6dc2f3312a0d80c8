import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { until } from '../../harness/until.ts';
import { describeStore } from './contract.ts';
import { DenseNumbers, DenseStore } from './dense-store.ts';
import { EtcdHome } from './etcd-home.ts';

describe('over a real etcd', () => {
  let etcd: EtcdServer;

  before(async function () {
    needEtcd(this);
    etcd = await EtcdServer.start();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  const common = { histories: 8, stages: false, reopens: true };

  describeStore({
    ...common,
    name: 'etcd, one by one,',
    async open({ watchBufferBytes } = {}) {
      const home = new EtcdHome(etcd);
      const options = watchBufferBytes === undefined ? {} : { watchBufferBytes };
      return {
        store: await home.open(options),
        async reopen() {
          await home.close();
          return home.open();
        },
        [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
      };
    },
  });

  describeStore({
    ...common,
    name: 'etcd, several as one,',
    async open({ watchBufferBytes } = {}) {
      const home = new EtcdHome(etcd);
      const numbers = new DenseNumbers();
      const opened = async (options: { watchBufferBytes?: number }) => {
        const store = await home.open({ ...options, room: 64 });
        // From here on it writes nothing of its own.
        await until('it has the sole right', () => store.present() !== undefined);
        return new DenseStore(store, numbers);
      };
      return {
        store: await opened(watchBufferBytes === undefined ? {} : { watchBufferBytes }),
        async reopen() {
          await home.close();
          return opened({});
        },
        [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
      };
    },
  });
});

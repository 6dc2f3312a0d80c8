import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { describeStore } from './contract.ts';
import { EtcdHome } from './etcd-home.ts';

describe('over a real etcd', () => {
  let etcd: EtcdServer;

  before(async function () {
    needEtcd(this);
    etcd = await EtcdServer.start();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  describeStore({
    name: 'etcd',
    histories: 8,
    stages: false,
    reopens: true,
    async open({ watchBufferBytes } = {}) {
      const home = new EtcdHome(etcd);
      return {
        store: await home.open(watchBufferBytes === undefined ? {} : { watchBufferBytes }),
        async reopen() {
          await home.close();
          return home.open();
        },
        [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
      };
    },
  });
});

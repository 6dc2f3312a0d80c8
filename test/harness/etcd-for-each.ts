import { EtcdServer, needEtcd } from './etcd-server.ts';

/** Gives each test of a suite an etcd of its own; skips the suite, saying why, where there is none. */
export function etcdForEach(give: (etcd: EtcdServer) => void): void {
  let etcd: EtcdServer | undefined;
  before(function () {
    needEtcd(this);
  });
  beforeEach(async () => {
    etcd = await EtcdServer.start();
    give(etcd);
  });
  afterEach(() => etcd?.[Symbol.asyncDispose]());
}

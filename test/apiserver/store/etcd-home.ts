import { openEtcdStore } from '../../../apiserver/store/etcd/open-store.ts';
import type { EtcdStore, EtcdStoreOptions } from '../../../apiserver/store/etcd/store.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import type { EtcdServer } from '../../harness/etcd-server.ts';

/** A root of its own in an etcd; disposing closes every store opened there. Transactions go alone unless told, so that revisions have no gaps. */
export class EtcdHome implements AsyncDisposable {
  readonly etcd: EtcdServer;
  readonly root: string;
  readonly #opened: EtcdStore[] = [];

  constructor(etcd: EtcdServer, root = `test-${systemIds.suffix(8)}`) {
    this.etcd = etcd;
    this.root = root;
  }

  async open(options: Partial<EtcdStoreOptions> = {}): Promise<EtcdStore> {
    const { endpoints } = this.etcd;
    const own = { endpoints, root: this.root, clock: systemClock, ids: systemIds, room: 1 } as const;
    const store = await openEtcdStore({ ...own, ...options });
    this.#opened.push(store);
    return store;
  }

  async close(): Promise<void> {
    for (const store of this.#opened.splice(0)) await store[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

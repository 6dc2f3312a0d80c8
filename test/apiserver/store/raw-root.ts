import { ConnectionPool } from 'etcd3/lib/connection-pool.js';
import { KVClient } from 'etcd3/lib/rpc.js';
import type { EtcdHome } from './etcd-home.ts';

interface RawKey {
  readonly value: string;
  /** etcd's. */
  readonly createRevision: number;
  readonly modRevision: number;
}

/** What etcd itself has under the root of a store, past that store. */
export class RawRoot implements Disposable {
  readonly #home: EtcdHome;
  readonly #pool: ConnectionPool;
  readonly #kv: KVClient;

  constructor(home: EtcdHome) {
    this.#home = home;
    this.#pool = new ConnectionPool({ hosts: home.etcd.endpoint });
    this.#kv = new KVClient(this.#pool);
  }

  /** By the rest of their names. */
  async keys(prefix: string): Promise<ReadonlyMap<string, RawKey>> {
    const whole = this.#key(prefix);
    const end = Buffer.from(whole);
    end[end.length - 1] = (end.at(-1) ?? 0) + 1;
    const { kvs } = await this.#kv.range({ key: whole, range_end: end });
    return new Map(
      kvs.map(({ key, value, create_revision, mod_revision }) => [
        key.toString().slice(this.#home.root.length + 1 + prefix.length),
        { value: value.toString(), createRevision: Number(create_revision), modRevision: Number(mod_revision) },
      ]),
    );
  }

  async put(key: string, value: string): Promise<void> {
    await this.#kv.put({ key: this.#key(key), value: Buffer.from(value) });
  }

  /** All in one step. */
  async remove(...keys: readonly string[]): Promise<void> {
    await this.#kv.txn({
      success: keys.map((key) => ({ request_delete_range: { key: this.#key(key) } })),
    });
  }

  /** Which revision etcd is at. */
  async revision(): Promise<number> {
    return Number((await this.#kv.range({ key: this.#key('none') })).header.revision);
  }

  /** How many calls of a kind etcd has taken. */
  async calls(method: 'Range' | 'Txn' | 'LeaseKeepAlive'): Promise<number> {
    const metrics = await (await fetch(`${this.#home.etcd.endpoint}/metrics`)).text();
    const counted = new RegExp(`^grpc_server_started_total\\{grpc_method="${method}",.*\\} (\\d+)$`, 'm').exec(metrics);
    return Number(counted?.[1] ?? 0);
  }

  [Symbol.dispose](): void {
    this.#pool.close();
  }

  #key(key: string): Buffer {
    return Buffer.from(`${this.#home.root}/${key}`);
  }
}

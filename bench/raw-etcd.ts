import { Etcd3 } from 'etcd3';
import type { Clock } from '../resources/ambient/clock.ts';
import type { EtcdServer } from '../test/harness/etcd-server.ts';

interface EtcdLoad {
  /** Each has a key of its own, and waits for its write before the next. */
  readonly writers: number;
  readonly operations: number;
  readonly valueBytes: number;
}

/** The control C2: compare-and-put through the etcd3 client, nothing of ours in between. */
export class RawEtcd implements Disposable {
  readonly #client: Etcd3;
  readonly #clock: Clock;

  constructor(etcd: EtcdServer, clock: Clock) {
    this.#client = new Etcd3({ hosts: [...etcd.endpoints] });
    this.#clock = clock;
  }

  /** How long each write took, in ms, and how many were done a second. */
  async write({
    writers,
    operations,
    valueBytes,
  }: EtcdLoad): Promise<{ readonly rate: number; readonly times: readonly number[] }> {
    const value = Buffer.alloc(valueBytes);
    const times: number[] = [];
    let next = 0;
    const began = this.#clock.monotonic();
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        const key = `raw/${writer}`;
        let revision = (await this.#client.get(key).exec()).kvs[0]?.mod_revision ?? '0';
        while (next++ < operations) {
          const sent = this.#clock.monotonic();
          revision = await this.#put(key, revision, value);
          times.push(this.#clock.monotonic() - sent);
        }
      }),
    );
    return { rate: (operations * 1000) / (this.#clock.monotonic() - began), times };
  }

  async #put(key: string, revision: string, value: Buffer): Promise<string> {
    const done = await this.#client
      .if(key, 'Mod', '==', Number(revision))
      .then(this.#client.put(key).value(value))
      .commit();
    if (!done.succeeded) throw new Error(`the compare on ${key} failed`);
    return done.header.revision;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

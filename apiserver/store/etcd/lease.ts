import type { Ids } from '../../../resources/ambient/ids.ts';
import { EtcdCallError } from './call-error.ts';
import type { EtcdConnection } from './connection.ts';
import { decodeKept, encodeGrant, encodeLease, GRANT_PATH, KEEP_ALIVE_PATH, REVOKE_PATH } from './lease-messages.ts';

/** Nothing that is promised rests on it; it is how long a member that was killed counts as one. etcd gives more where its elections take long. */
const SECONDS = 5;
/** Of an id, which we choose: etcd's own are beyond what a number is exact to. */
const ID_BYTES = 6;

/** A lease of etcd: keys that were put with it are gone once it ends. */
export class Lease {
  readonly id: number;
  readonly #connection: EtcdConnection;

  private constructor(id: number, connection: EtcdConnection) {
    this.id = id;
    this.#connection = connection;
  }

  /** Rejects with EtcdCallError. */
  static async grant(connection: EtcdConnection, ids: Ids, signal?: AbortSignal): Promise<Lease> {
    const id = Number.parseInt(ids.secret(ID_BYTES), 16);
    await connection.ask(GRANT_PATH, encodeGrant(id, SECONDS), signal).catch(unlessThere);
    return new Lease(id, connection);
  }

  /** False when it is not there any more. */
  async keep(signal: AbortSignal): Promise<boolean> {
    return decodeKept(await this.#connection.askOnce(KEEP_ALIVE_PATH, encodeLease(this.id), signal)) > 0;
  }

  /** Its keys are gone when this resolves. */
  async revoke(signal: AbortSignal): Promise<void> {
    await this.#connection.askOnce(REVOKE_PATH, encodeLease(this.id), signal);
  }
}

/** It was asked for twice, as the first answer was lost. */
function unlessThere(error: unknown): undefined {
  if (!(error instanceof EtcdCallError) || !error.message.includes('lease already exists')) throw error;
}

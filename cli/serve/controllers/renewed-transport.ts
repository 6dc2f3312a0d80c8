import { statSync } from 'node:fs';
import type { Connection } from '../../../apiserver/client/https-transport.ts';
import type { ApiRequest, ApiResponse, Transport } from '../../../apiserver/client/transport.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';

/** A way to servers by one credential. */
export interface Way extends AsyncDisposable {
  readonly send: Transport;
}

interface RenewedTransportOptions {
  /** Reads the credential, and says which files it is from. */
  readonly read: () => Promise<{ readonly connection: Connection; readonly files: readonly string[] }>;
  readonly open: (connection: Connection) => Way;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How often files are looked at. */
const LOOK_MS = 5_000;
/** How long what is under way by an old credential may go on; watches begin again then. */
const DRAIN_MS = 30_000;

/**
 * A transport that goes by the credential its files hold now: they are read again when they change, and when the server does not know the
 * credential any more. What cannot be read is told to the log, and the old one is gone on with.
 */
export class RenewedTransport implements AsyncDisposable {
  readonly #options: RenewedTransportOptions;
  #connection: Connection;
  #way: Way;
  #files: readonly string[];
  #stamp: string;
  #lookedAtMs: number;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  readonly #old = new Set<Way>();

  private constructor(options: RenewedTransportOptions, connection: Connection, files: readonly string[]) {
    this.#options = options;
    this.#connection = connection;
    this.#way = options.open(connection);
    this.#files = files;
    this.#stamp = stampOf(files);
    this.#lookedAtMs = options.clock.monotonic();
  }

  /** Reads the credential. Rejects when it cannot be read. */
  static async open(options: RenewedTransportOptions): Promise<RenewedTransport> {
    const { connection, files } = await options.read();
    return new RenewedTransport(options, connection, files);
  }

  readonly send: Transport = async (request) => {
    await this.#look();
    const way = this.#way;
    const response = await way.send(request);
    if (response.status !== 401) return response;
    return this.#again(request, response, way);
  };

  /** Breaks off all that is open: watches that hang on a server which does not answer begin again elsewhere. */
  reopen(): void {
    const old = this.#way;
    this.#way = this.#options.open(this.#connection);
    void old[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reading;
    for (const way of [this.#way, ...this.#old]) await way[Symbol.asyncDispose]();
  }

  /** What was refused was not done: it is sent once more by a credential that was read since. */
  async #again(request: ApiRequest, refused: ApiResponse, by: Way): Promise<ApiResponse> {
    if (this.#way === by && this.#mayReadForRefusal()) await this.#read();
    if (this.#way === by) return refused;
    for await (const _ of refused.body);
    return this.#way.send(request);
  }

  async #look(): Promise<void> {
    if (this.#reading !== undefined) return this.#reading;
    if (this.#isTime() && stampOf(this.#files) !== this.#stamp) await this.#read();
  }

  /** Not for each request of a credential that is known to nobody any more. */
  #mayReadForRefusal(): boolean {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - this.#refusedAtMs < LOOK_MS) return false;
    this.#refusedAtMs = nowMs;
    return true;
  }

  /** Whether it is time to look again; then it was. */
  #isTime(): boolean {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - this.#lookedAtMs < LOOK_MS) return false;
    this.#lookedAtMs = nowMs;
    return true;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readAnew().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readAnew(): Promise<void> {
    const { read, open, log, clock } = this.#options;
    try {
      const { connection, files } = await read();
      const old = this.#way;
      this.#connection = connection;
      this.#way = open(connection);
      this.#files = files;
      this.#stamp = stampOf(files);
      this.#old.add(old);
      clock.after(DRAIN_MS, () => {
        this.#old.delete(old);
        void old[Symbol.asyncDispose]();
      });
      log.info('credential read again', { files: files.join(',') });
    } catch (error) {
      log.error('credential not read again', { error: String(error) });
    }
  }
}

/** Changes when one of the files does. */
function stampOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat === undefined ? '-' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    })
    .join(' ');
}

import { once } from 'node:events';
import { connect, type SecureContext, type TLSSocket } from 'node:tls';

export interface WireAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** The body goes on: the answer was given up after its head. */
  readonly open: boolean;
}

/** What arrived is no HTTP answer. */
export class NoHttp extends Error {}

/** The other end closed before an answer was there. */
export class Closed extends Error {}

const HEAD_END = Buffer.from('\r\n\r\n');

/** One connection as bytes: what is sent is up to the caller, what comes back is read as HTTP answers, strictly. */
export class TlsLine implements Disposable {
  readonly socket: TLSSocket;
  #received = Buffer.alloc(0);
  #closed = false;
  #wake: (() => void) | undefined;

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (piece: Buffer) => {
      this.#received = Buffer.concat([this.#received, piece]);
      this.#wake?.();
    });
    const end = () => {
      this.#closed = true;
      this.#wake?.();
    };
    socket.on('error', end).on('end', end).on('close', end);
  }

  /** Opens a connection; with a session of an earlier one, for less work. Sessions that come are put into `session`. */
  static async open(port: number, context: SecureContext, session: { latest?: Buffer } = {}): Promise<TlsLine> {
    const resumed = session.latest === undefined ? {} : { session: session.latest };
    const socket = connect({ host: '127.0.0.1', port, secureContext: context, servername: 'localhost', ...resumed });
    socket.once('session', (made: Buffer) => {
      session.latest = made;
    });
    await once(socket, 'secureConnect');
    return new TlsLine(socket);
  }

  get usable(): boolean {
    return !this.#closed && this.socket.writable && this.#received.length === 0;
  }

  write(bytes: Uint8Array): void {
    if (!this.#closed) this.socket.write(bytes);
  }

  /** Resolves once the other end has closed. */
  async closed(): Promise<void> {
    while (!this.#closed) await this.#more();
  }

  /** The next answer; those that only say to go on are passed over. A stream is given up after its head. Throws Closed or NoHttp. */
  async answer(method: string, isStream: boolean): Promise<WireAnswer> {
    for (;;) {
      const { status, headers } = await this.#head();
      if (status === 100) continue;
      const bare = method === 'HEAD' || status < 200 || status === 204 || status === 304;
      const chunked = headers.get('transfer-encoding') === 'chunked';
      if (!bare && chunked && isStream) return { status, headers, body: Buffer.alloc(0), open: true };
      const body = bare ? Buffer.alloc(0) : chunked ? await this.#chunks() : await this.#sized(headers);
      return { status, headers, body, open: status === 101 };
    }
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  async #head(): Promise<Pick<WireAnswer, 'status' | 'headers'>> {
    const end = await this.#upTo(HEAD_END);
    const [first = '', ...lines] = end.toString('latin1').split('\r\n');
    const status = /^HTTP\/1\.1 ([1-5][0-9][0-9]) [\x20-\x7e]*$/.exec(first)?.[1];
    if (status === undefined) throw new NoHttp(`no status line: ${JSON.stringify(first.slice(0, 200))}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined)
        throw new NoHttp(`no header: ${JSON.stringify(line.slice(0, 200))}`);
      headers.set(name.toLowerCase(), value);
    }
    return { status: Number(status), headers };
  }

  async #sized(headers: ReadonlyMap<string, string>): Promise<Buffer> {
    const length = headers.get('content-length');
    if (length !== undefined) return this.#take(Number(length));
    await this.closed();
    return this.#take(this.#received.length);
  }

  async #chunks(): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (;;) {
      const size = Number.parseInt((await this.#upTo(HEAD_END.subarray(2))).toString('latin1'), 16);
      if (!Number.isInteger(size)) throw new NoHttp('no size of a chunk');
      pieces.push(await this.#take(size));
      if ((await this.#take(2)).toString() !== '\r\n') throw new NoHttp('a chunk goes on');
      if (size === 0) return Buffer.concat(pieces);
    }
  }

  /** What comes before a mark; the mark is taken too. */
  async #upTo(mark: Buffer): Promise<Buffer> {
    for (;;) {
      const at = this.#received.indexOf(mark);
      if (at >= 0) return (await this.#take(at + mark.length)).subarray(0, at);
      if (this.#closed) throw new Closed(`closed with ${this.#received.length} bytes of a head`);
      await this.#more();
    }
  }

  async #take(length: number): Promise<Buffer> {
    while (this.#received.length < length) {
      if (this.#closed) throw new NoHttp(`closed after ${this.#received.length} of ${length} bytes`);
      await this.#more();
    }
    const taken = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return taken;
  }

  async #more(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }
}

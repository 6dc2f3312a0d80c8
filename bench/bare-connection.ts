import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import type { ServerAddress } from './server-process.ts';

const END_OF_HEAD = '\r\n\r\n';

/** One connection that asks one thing after the other: so little is done here that the server is what is measured. */
export class BareConnection implements Disposable {
  readonly #socket: TLSSocket;
  readonly #token: string;
  #got: Buffer | undefined;
  /** Bytes of the answer that is coming, once its head is there, and where its body begins. */
  #expected = 0;
  #bodyAt = 0;
  #waiting: PromiseWithResolvers<Buffer> | undefined;

  private constructor(socket: TLSSocket, token: string) {
    this.#socket = socket;
    this.#token = token;
    socket.on('data', (piece: Buffer) => this.#receive(piece));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')));
  }

  static async open({ port, ca, token }: ServerAddress): Promise<BareConnection> {
    const socket = connect({ host: '127.0.0.1', port, ca });
    await once(socket, 'secureConnect');
    return new BareConnection(socket, token);
  }

  /** Sends JSON and answers the body that comes; rejects for any status but 200 and 201. */
  send(method: string, path: string, body: string): Promise<Buffer> {
    const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${this.#token}\r\ncontent-type: application/json\r\n`;
    const waiting = Promise.withResolvers<Buffer>();
    this.#waiting = waiting;
    this.#socket.write(`${head}content-length: ${Buffer.byteLength(body)}${END_OF_HEAD}${body}`);
    return waiting.promise;
  }

  [Symbol.dispose](): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #receive(piece: Buffer): void {
    const got = this.#got === undefined ? piece : Buffer.concat([this.#got, piece]);
    this.#got = got;
    if (this.#expected === 0 && !this.#readHead(got)) return;
    if (got.length < this.#expected) return;
    const body = got.subarray(this.#bodyAt, this.#expected);
    this.#got = undefined;
    this.#expected = 0;
    this.#waiting?.resolve(body);
  }

  #readHead(got: Buffer): boolean {
    const end = got.indexOf(END_OF_HEAD);
    if (end < 0) return false;
    const head = got.toString('latin1', 0, end);
    if (!/^HTTP\/1\.1 20[01] /.test(head)) this.#waiting?.reject(new Error(String(got)));
    this.#bodyAt = end + END_OF_HEAD.length;
    this.#expected = this.#bodyAt + Number(/content-length: (\d+)/i.exec(head)?.[1]);
    return true;
  }
}

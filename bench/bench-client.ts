import { once } from 'node:events';
import { Agent, type RequestOptions, request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import type { ServerAddress } from './server-process.ts';

/** One HTTPS client for ours and the control. */
export class BenchClient implements Disposable {
  readonly #server: ServerAddress;
  readonly #agent: Agent;

  constructor(server: ServerAddress, sockets: number) {
    this.#server = server;
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets });
  }

  /** Sends a request and reads the whole answer; rejects for a status of 400 and above. */
  async send(method: string, path: string, body?: string | Buffer): Promise<Buffer> {
    const outgoing = request({ ...this.#options(method, path), agent: this.#agent });
    outgoing.end(body);
    const [response] = await once(outgoing, 'response');
    const pieces: Buffer[] = [];
    for await (const piece of response) pieces.push(piece);
    const answer = Buffer.concat(pieces);
    if (response.statusCode >= 400) throw new Error(`${method} ${path}: ${response.statusCode} ${answer}`);
    return answer;
  }

  /** Opens a stream on a connection of its own and tells of every line that ends. Answers what closes it. */
  async watch(path: string, onLine: () => void, onPiece: (piece: Buffer) => void = () => {}): Promise<() => void> {
    const outgoing = request({ ...this.#options('GET', path), agent: false });
    outgoing.on('error', () => {});
    outgoing.end();
    const [response] = await once(outgoing, 'response');
    if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode}`);
    response.on('error', () => {});
    response.on('data', (piece: Buffer) => {
      onPiece(piece);
      for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) onLine();
    });
    return () => outgoing.destroy();
  }

  /** The bytes of a stream up to the end of so many lines. */
  async record(path: string, lines: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let left = lines;
    const { promise, resolve } = Promise.withResolvers<void>();
    const onPiece = (piece: Buffer) => {
      if (left > 0) pieces.push(piece);
    };
    const close = await this.watch(
      path,
      () => {
        if (--left === 0) resolve();
      },
      onPiece,
    );
    await promise;
    close();
    return Buffer.concat(pieces);
  }

  /** Reads one path again and again over a bare connection: so little is done here that the server is what is measured. */
  async openGets(path: string): Promise<BareGets> {
    const { port, ca, token } = this.#server;
    const socket = connect({ host: '127.0.0.1', port, ca });
    await once(socket, 'secureConnect');
    return new BareGets(socket, `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #options(method: string, path: string): RequestOptions {
    const { port, ca, token } = this.#server;
    const headers = {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(method === 'GET' ? {} : { 'content-type': contentType(method) }),
    };
    return { host: '127.0.0.1', port, ca, method, path, headers };
  }
}

const NEWLINE = 0x0a;

function contentType(method: string): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
}

/** One connection that asks for the same thing over and over. */
export class BareGets implements Disposable {
  readonly #socket: TLSSocket;
  readonly #question: Buffer;
  /** Bytes of a whole answer: all are as long as the first. */
  #expected = 0;
  #got = 0;
  #head = '';
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(socket: TLSSocket, question: string) {
    this.#socket = socket;
    this.#question = Buffer.from(question);
    socket.on('data', (piece: Buffer) => this.#receive(piece));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')));
  }

  get(): Promise<void> {
    this.#waiting = Promise.withResolvers();
    this.#socket.write(this.#question);
    return this.#waiting.promise;
  }

  [Symbol.dispose](): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #receive(piece: Buffer): void {
    this.#got += piece.length;
    if (this.#expected === 0) this.#expected = this.#lengthOf(piece);
    if (this.#expected === 0 || this.#got < this.#expected) return;
    this.#got -= this.#expected;
    this.#waiting?.resolve();
  }

  #lengthOf(piece: Buffer): number {
    this.#head += piece.toString('latin1');
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) return 0;
    if (!this.#head.startsWith('HTTP/1.1 200')) throw new Error(this.#head.slice(0, end));
    return end + 4 + Number(/content-length: (\d+)/i.exec(this.#head)?.[1]);
  }
}

/** Operations a second of `clients` that each wait for theirs before the next. */
export async function closedLoopRate(
  { clients, operations, now }: { clients: number; operations: number; now: () => number },
  run: (client: number, operation: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const began = now();
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let i = next++; i < operations; i = next++) await run(client, i);
    }),
  );
  return (operations * 1000) / (now() - began);
}

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { H2_PROTOCOL } from '../../apiserver/client/h2-protocol.ts';
import type { Connection } from '../../apiserver/client/https-transport.ts';
import { testCertificate } from './test-authority.ts';

/** What agrees to HTTP/2 with clients of ours, and leaves every stream to a test. */
export class H2Server implements AsyncDisposable {
  readonly connection: Connection;
  /** The connections it was ever given. */
  readonly sockets: TLSSocket[];
  readonly #stop: () => Promise<unknown>;

  private constructor(connection: Connection, sockets: TLSSocket[], stop: () => Promise<unknown>) {
    this.connection = connection;
    this.sockets = sockets;
    this.#stop = stop;
  }

  static async start(onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void): Promise<H2Server> {
    const { ca, cert, key } = await testCertificate();
    const http2 = createServer();
    http2.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      onStream(stream, headers);
    });
    http2.on('sessionError', () => {});
    const sockets: TLSSocket[] = [];
    const server = createTlsServer({ cert, key, ALPNProtocols: [H2_PROTOCOL] }, (socket) => {
      sockets.push(socket);
      http2.emit('connection', socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return new H2Server({ server: `https://127.0.0.1:${port}`, ca }, sockets, () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}

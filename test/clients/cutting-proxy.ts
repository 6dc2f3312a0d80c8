import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A way to a server that breaks when told to, as networks do. */
export class CuttingProxy implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  #down = false;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.port = (server.address() as AddressInfo).port;
  }

  static async open(toPort: number): Promise<CuttingProxy> {
    const sockets = new Set<Socket>();
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new CuttingProxy(server, sockets);
    server.on('connection', (near) => proxy.#join(near, toPort));
    return proxy;
  }

  /** Resets every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#sockets.clear();
  }

  /** Resets every connection and refuses new ones until `up`. */
  down(): void {
    this.#down = true;
    this.cut();
  }

  up(): void {
    this.#down = false;
  }

  #join(near: Socket, toPort: number): void {
    if (this.#down) return void near.resetAndDestroy();
    const far = connect(toPort, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far).pipe(near);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.down();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

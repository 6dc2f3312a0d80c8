import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP relay to a port on loopback that can keep answers back, cut all connections, and let none through. */
export class CutProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<{ readonly client: Socket; readonly target: Socket }>();
  #held = false;
  #refusing = false;

  static async start(targetPort: number): Promise<CutProxy> {
    const proxy = new CutProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  private constructor(targetPort: number) {
    this.#server = createServer((client) => {
      if (this.#refusing) {
        client.destroy();
        return;
      }
      const target = connect(targetPort, '127.0.0.1');
      const pair = { client, target };
      this.#pairs.add(pair);
      client.pipe(target);
      target.on('data', (data) => client.write(data));
      if (this.#held) target.pause();
      for (const socket of [client, target]) {
        socket.on('error', () => {});
        socket.on('close', () => this.#end(pair));
      }
    });
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** From now on what is asked gets through, and no answer does. */
  holdAnswers(): void {
    this.#held = true;
    for (const { target } of this.#pairs) target.pause();
  }

  /** The same for the connection that was opened last, and for no other. */
  holdLastAnswers(): void {
    [...this.#pairs].at(-1)?.target.pause();
  }

  /** Ends all connections, and from now on new ones at once. */
  refuse(): void {
    this.cut();
    this.#refusing = true;
  }

  /** Ends all connections; new ones are let through in both directions. */
  cut(): void {
    this.#held = false;
    this.#refusing = false;
    for (const pair of [...this.#pairs]) this.#end(pair);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #end(pair: { readonly client: Socket; readonly target: Socket }): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.target.destroy();
  }
}

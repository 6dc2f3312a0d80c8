import { connect, type TLSSocket } from 'node:tls';

/** A watch on a connection of its own, which reads nothing until it is told to. */
export class TlsWatcher implements Disposable {
  readonly #socket: TLSSocket;
  /** How many events it has read. */
  events = 0;
  /** Whether it has read the end of the stream, or its connection was closed. */
  over = false;

  /** Resolves when the question is sent. */
  static open(
    { url, ca, token }: { readonly url: string; readonly ca: string; readonly token: string },
    path: string,
  ): Promise<TlsWatcher> {
    const { hostname, port } = new URL(url);
    const head = `host: ${hostname}\r\nauthorization: Bearer ${token}`;
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), ca });
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        socket.write(`GET ${path}?watch=1 HTTP/1.1\r\n${head}\r\n\r\n`);
        socket.pause();
        resolve(new TlsWatcher(socket));
      });
    });
  }

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.once('close', () => {
      this.over = true;
    });
  }

  /** Reads from here on. */
  read(): void {
    let tail = '';
    this.#socket.setEncoding('latin1').on('data', (text: string) => {
      const seen = tail + text;
      this.events += seen.split('{"type":"').length - 1;
      if (seen.includes('\r\n0\r\n')) this.over = true;
      tail = seen.slice(-8);
    });
    this.#socket.resume();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { CHANNEL, decodeFrame } from '../../../resources/streams/channel-frames.ts';
import {
  CONTROL_PROTOCOL,
  DIALBACK_PROTOCOL,
  type StreamRequest,
} from '../../../resources/streams/control-messages.ts';

/** What came out of a stream. */
interface Received {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: unknown;
  readonly code: number;
  readonly reason: string;
}

/** The server's side of control sockets and dial-backs, on a loopback port. */
export class StreamServer implements AsyncDisposable {
  readonly controls: WebSocket[] = [];
  /** Handshakes it saw, by path. */
  readonly paths: string[] = [];
  refuse = false;
  /** Tells everybody that another nodelet is at work: with this message. */
  second: string | undefined;
  /** Answers no handshake. */
  stall = false;
  readonly #http: Server;
  readonly #wss = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: ([first]) => first ?? false,
  });
  readonly #waiting = new Map<string, (socket: WebSocket) => void>();
  readonly #stalled: Duplex[] = [];
  #tickets = 0;

  private constructor(http: Server) {
    this.#http = http;
    http.on('upgrade', (request, socket, head) => {
      const url = new URL(request.url ?? '', 'http://server');
      this.paths.push(url.pathname);
      if (this.stall) return void this.#stalled.push(socket.on('error', () => {}).resume());
      const wanted = url.pathname.endsWith('/control') ? CONTROL_PROTOCOL : DIALBACK_PROTOCOL;
      if (this.second !== undefined) {
        const body = JSON.stringify({ kind: 'Status', reason: 'Conflict', message: this.second });
        socket.end(`HTTP/1.1 409 Conflict\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
        return;
      }
      if (this.refuse || request.headers['sec-websocket-protocol'] !== wanted) {
        socket.end('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n');
        return;
      }
      this.#wss.handleUpgrade(request, socket, head, (accepted) => {
        if (wanted === CONTROL_PROTOCOL) this.controls.push(accepted);
        else this.#redeem(url.searchParams.get('ticket') ?? '', accepted);
      });
    });
  }

  static async listen(): Promise<StreamServer> {
    const http = createServer();
    const server = new StreamServer(http);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** A ticket for one stream, and the socket that redeems it. */
  ticket(): { readonly ticket: string; readonly socket: Promise<WebSocket> } {
    this.#tickets += 1;
    const ticket = `ticket-${this.#tickets}`;
    return { ticket, socket: new Promise((resolve) => this.#waiting.set(ticket, resolve)) };
  }

  /** Asks for a stream over a control socket. */
  dial(control: WebSocket, stream: StreamRequest): Promise<WebSocket> {
    const { ticket, socket } = this.ticket();
    control.send(JSON.stringify({ type: 'dial', ticket, stream }));
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#wss.clients) socket.terminate();
    for (const socket of this.#stalled) socket.destroy();
    const closed = new Promise((resolve) => this.#http.close(resolve));
    this.#http.closeAllConnections();
    await closed;
  }

  #redeem(ticket: string, socket: WebSocket): void {
    const waiting = this.#waiting.get(ticket);
    this.#waiting.delete(ticket);
    if (waiting === undefined) {
      socket.close(1008);
      return;
    }
    // As the server does: nothing is read before somebody listens, which lets it flow again.
    socket.pause();
    socket.on('newListener', (event) => {
      if (event === 'message') setImmediate(() => socket.resume());
    });
    waiting(socket);
  }
}

/** Everything an exec stream says until it is closed. */
export function received(socket: WebSocket): Promise<Received> {
  const text = { stdout: '', stderr: '' };
  let status: unknown;
  return new Promise((resolve) => {
    socket.on('message', (data) => {
      const frame = decodeFrame(bytesOf(data));
      if (frame?.channel === CHANNEL.stdout) text.stdout += Buffer.from(frame.payload).toString();
      if (frame?.channel === CHANNEL.stderr) text.stderr += Buffer.from(frame.payload).toString();
      if (frame?.channel === CHANNEL.error) status = JSON.parse(Buffer.from(frame.payload).toString());
    });
    socket.on('close', (code, reason) => resolve({ ...text, status, code, reason: reason.toString() }));
  });
}

/** Everything a stream of raw bytes says until it is closed. */
export function receivedBytes(socket: WebSocket): Promise<{ readonly text: string; readonly code: number }> {
  let text = '';
  return new Promise((resolve) => {
    socket.on('message', (data) => {
      text += Buffer.from(bytesOf(data)).toString();
    });
    socket.on('close', (code) => resolve({ text, code }));
  });
}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}

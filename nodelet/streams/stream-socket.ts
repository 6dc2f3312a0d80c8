import type { RawData, WebSocket } from 'ws';
import { STREAM_CLOSE } from '../../resources/streams/control-messages.ts';
import { DriverError } from '../drivers/driver.ts';

/** Bytes received and not yet taken before we stop reading from the network. */
const MAX_UNTAKEN = 256 << 10;
/** Bytes sent and not yet on the network before a sender has to wait. */
const MAX_UNSENT = 256 << 10;
/** Protocol limit of a close reason, in bytes, with room for none of it to be cut by a proxy. */
const MAX_REASON_BYTES = 120;

/**
 * An open WebSocket as a bounded pipe: `receive` stops the network while nobody takes, `send` waits while the other side does not take. `closed` aborts
 * when the socket is gone, for any reason.
 */
export class StreamSocket {
  readonly #socket: WebSocket;
  readonly #untaken: Uint8Array[] = [];
  readonly #closed = new AbortController();
  #untakenBytes = 0;
  #wake: (() => void) | undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => this.#keep(bytesOf(data)));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#closed.abort(new DriverError('StreamBroken', 'the stream was closed'));
      this.#wake?.();
    });
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Messages in order, until the socket is closed. */
  async *receive(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const message = this.#untaken.shift();
      if (message !== undefined) {
        this.#untakenBytes -= message.length;
        if (this.#socket.isPaused && this.#untakenBytes < MAX_UNTAKEN) this.#socket.resume();
        yield message;
      } else if (this.#closed.signal.aborted) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** Sends a binary message; resolves when the next may follow. Rejects when the socket is closed. */
  send(message: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#closed.signal.throwIfAborted();
      const broken = () => reject(this.#closed.signal.reason);
      this.#closed.signal.addEventListener('abort', broken, { once: true });
      const sent = () => {
        this.#closed.signal.removeEventListener('abort', broken);
        resolve();
      };
      const waits = this.#socket.bufferedAmount + message.length > MAX_UNSENT;
      // A failed send is followed by a close, which rejects.
      this.#socket.send(message, { binary: true }, waits ? (error) => error ?? sent() : () => {});
      if (!waits) sent();
    });
  }

  /** Ends the stream well. */
  close(): void {
    this.#socket.close(STREAM_CLOSE.done);
    this.#letGo();
  }

  /** Ends the stream with the code that tells why, and a sentence. */
  fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#socket.close(closeCode(error), clip(message));
    this.#letGo();
  }

  /** Ends it without a word. */
  terminate(): void {
    this.#socket.terminate();
  }

  /** What still comes is of no use; a paused socket would never see the other side's close. */
  #letGo(): void {
    this.#untaken.length = 0;
    this.#untakenBytes = Number.NEGATIVE_INFINITY;
    if (this.#socket.isPaused) this.#socket.resume();
  }

  #keep(message: Uint8Array): void {
    if (this.#untakenBytes === Number.NEGATIVE_INFINITY) return;
    this.#untaken.push(message);
    // An empty message takes memory too.
    this.#untakenBytes += message.length;
    if (this.#untakenBytes >= MAX_UNTAKEN || this.#untaken.length >= 1024) this.#socket.pause();
    this.#wake?.();
  }
}

function closeCode(error: unknown): number {
  if (!(error instanceof DriverError)) return STREAM_CLOSE.failed;
  switch (error.reason) {
    case 'NoSuchGuest':
      return STREAM_CLOSE.noSuchGuest;
    case 'NotRunning':
      return STREAM_CLOSE.notRunning;
    case 'StreamBroken':
      return STREAM_CLOSE.broken;
    case 'AgentUnavailable':
      return STREAM_CLOSE.noAgent;
    default:
      return STREAM_CLOSE.failed;
  }
}

/** The longest beginning that fits, whole characters only. */
function clip(text: string): string {
  const encoder = new TextEncoder();
  let short = text;
  while (encoder.encode(short).length > MAX_REASON_BYTES) short = [...short].slice(0, -1).join('');
  return short;
}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}

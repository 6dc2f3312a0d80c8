import type { RawData, WebSocket } from 'ws';

interface Closed {
  readonly code: number;
  readonly reason: string;
}

const HIGH_WATER_BYTES = 1 << 20;

/**
 * A WebSocket's binary messages as one byte stream. `begin` resolves with the first message or the close, whichever is first, so that a
 * refusal can still become an HTTP status. A reader that lags pauses the socket. The body throws when the socket closes with another code
 * than 1000: what was read is not all.
 */
export function socketBytes(
  socket: WebSocket,
  signal: AbortSignal,
): { begin(): Promise<{ closed?: Closed }>; body: AsyncIterable<Uint8Array> } {
  const queue: Uint8Array[] = [];
  let bytes = 0;
  let closed: Closed | undefined;
  let wake: (() => void) | undefined;
  const changed = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  socket.on('message', (data: RawData) => {
    const piece = Buffer.isBuffer(data) ? data : Buffer.concat(Array.isArray(data) ? data : [Buffer.from(data)]);
    queue.push(piece);
    bytes += piece.length;
    if (bytes > HIGH_WATER_BYTES) socket.pause();
    wake?.();
  });
  socket.on('error', () => socket.terminate());
  socket.once('close', (code, reason) => {
    closed = { code, reason: reason.toString() };
    wake?.();
  });
  // One that was opened by us was held until there is somebody to take what comes.
  if (socket.isPaused) socket.resume();
  if (socket.readyState > socket.OPEN) closed = { code: 1006, reason: '' };
  const onAbort = () => socket.close(1000, 'the reader went away');
  signal.addEventListener('abort', onAbort, { once: true });
  async function* read(): AsyncIterable<Uint8Array> {
    try {
      for (;;) {
        const piece = queue.shift();
        if (piece !== undefined) {
          bytes -= piece.length;
          if (socket.isPaused && bytes < HIGH_WATER_BYTES / 2) socket.resume();
          yield piece;
          continue;
        }
        if (closed !== undefined && closed.code !== 1000 && !signal.aborted) {
          throw new Error(`the stream broke: ${closed.reason || `code ${closed.code}`}`);
        }
        if (closed !== undefined) return;
        await changed();
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      socket.close(1000);
    }
  }
  return {
    async begin() {
      while (queue.length === 0 && closed === undefined) await changed();
      return queue.length > 0 || closed?.code === 1000 ? {} : { closed: closed as Closed };
    },
    body: read(),
  };
}

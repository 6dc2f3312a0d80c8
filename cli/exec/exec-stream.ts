import { once } from 'node:events';
import type WebSocket from 'ws';
import {
  CHANNEL,
  closeFrame,
  decodeFrame,
  encodeFrame,
  exitCodeOf,
  MAX_MESSAGE_BYTES,
} from '../../resources/streams/channel-frames.ts';
import { STREAM_CLOSE } from '../../resources/streams/control-messages.ts';
import type { InputStream, OutputStream } from '../io.ts';

/** How a command in a guest ended, or why it did not. */
export type ExecResult =
  | { readonly kind: 'exited'; readonly code: number }
  /** It never ran, or its result could not be had; `retry`: the guest was not ready yet and nothing had begun. */
  | { readonly kind: 'failed'; readonly message: string; readonly retry: boolean }
  /** The stream ended before the command did. */
  | { readonly kind: 'broken'; readonly message: string };

export interface ExecStreams {
  /** Undefined: the command gets no stdin. */
  readonly stdin: InputStream | undefined;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** The terminal whose size the command is told, now and when it changes. */
  readonly terminal: OutputStream | undefined;
}

/** Carries the streams of one command over an open socket, which is closed in the end. Rejects only when the signal aborts. */
export async function runExec(socket: WebSocket, streams: ExecStreams, signal: AbortSignal): Promise<ExecResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ExecResult>();
  let status: string | undefined;
  let begun = false;
  const stop = new AbortController();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  socket.on('message', (data) => {
    const frame = Buffer.isBuffer(data) ? decodeFrame(data) : undefined;
    if (frame === undefined || frame.payload.length === 0) return;
    begun = true;
    if (frame.channel === CHANNEL.stdout) put(socket, streams.stdout, frame.payload);
    else if (frame.channel === CHANNEL.stderr) put(socket, streams.stderr, frame.payload);
    else if (frame.channel === CHANNEL.error) {
      status = Buffer.from(frame.payload).toString('utf8');
      resolve(resultOf(status));
    }
  });
  socket.on('error', (error) => resolve({ kind: 'broken', message: error.message }));
  socket.on('close', (code, reason) =>
    resolve(status === undefined ? closed(code, reason.toString(), begun) : resultOf(status)),
  );
  socket.resume();
  if (streams.stdin !== undefined) sendStdin(socket, streams.stdin, stop.signal).catch(() => {});
  const unsize = streams.terminal === undefined ? undefined : sendSizes(socket, streams.terminal);
  try {
    return await promise;
  } finally {
    stop.abort();
    unsize?.();
    signal.removeEventListener('abort', onAbort);
    await Promise.all([drained(streams.stdout), drained(streams.stderr)]);
    socket.close(STREAM_CLOSE.done);
    // The other side may never answer the close.
    if (signal.aborted) socket.terminate();
  }
}

/** Writes what came; a slow reader of ours stops the socket, and with it the guest. */
function put(socket: WebSocket, to: OutputStream, bytes: Uint8Array): void {
  if (to.write(bytes)) return;
  socket.pause();
  to.once('drain', () => socket.resume());
}

async function drained(to: OutputStream): Promise<void> {
  if (to.writableNeedDrain && !to.destroyed) await once(to, 'drain').catch(() => {});
}

/** Sends stdin piece by piece, the next when the last is on its way; then says that no more will come. */
async function sendStdin(socket: WebSocket, stdin: InputStream, signal: AbortSignal): Promise<void> {
  const ended = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  );
  ended.catch(() => {});
  const pieces = stdin.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  for (;;) {
    const next = await Promise.race([pieces.next(), ended]);
    if (next.done === true) break;
    const bytes = typeof next.value === 'string' ? Buffer.from(next.value) : (next.value as Buffer);
    for (let at = 0; at < bytes.length; at += MAX_MESSAGE_BYTES - 1)
      await send(socket, encodeFrame(CHANNEL.stdin, bytes.subarray(at, at + MAX_MESSAGE_BYTES - 1)));
  }
  await send(socket, closeFrame(CHANNEL.stdin));
}

function send(socket: WebSocket, frame: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => socket.send(frame, (error) => (error ? reject(error) : resolve())));
}

function sendSizes(socket: WebSocket, terminal: OutputStream): () => void {
  const tell = () => {
    const size = JSON.stringify({ Width: terminal.columns ?? 80, Height: terminal.rows ?? 24 });
    socket.send(encodeFrame(CHANNEL.resize, Buffer.from(size)), () => {});
  };
  tell();
  terminal.on('resize', tell);
  return () => terminal.off('resize', tell);
}

function resultOf(text: string): ExecResult {
  try {
    const result = exitCodeOf(JSON.parse(text));
    if ('code' in result) return { kind: 'exited', code: result.code };
    return { kind: 'failed', message: result.failure, retry: false };
  } catch {
    return { kind: 'broken', message: 'the result of the command came garbled' };
  }
}

function closed(code: number, reason: string, begun: boolean): ExecResult {
  const early = code === STREAM_CLOSE.notRunning || code === STREAM_CLOSE.noAgent;
  if (code === STREAM_CLOSE.noSuchGuest || code === STREAM_CLOSE.failed || early)
    return { kind: 'failed', message: reason === '' ? `the host refused (${code})` : reason, retry: early && !begun };
  const why = reason === '' ? `closed with ${code}` : `${reason} (${code})`;
  return { kind: 'broken', message: `the stream ended before the command did: ${why}` };
}

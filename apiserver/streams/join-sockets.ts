import type { RawData, WebSocket } from 'ws';

/** How much may wait to be written to one side before the other is paused. */
const HIGH_WATER_BYTES = 1 << 20;

/**
 * Passes messages between two WebSockets until either closes; the other is then closed with the same code and reason. A side that does not
 * read pauses the other: TCP is the flow control, and at most about a mebibyte waits here.
 */
export function joinSockets(a: WebSocket, b: WebSocket): void {
  pass(a, b);
  pass(b, a);
  a.once('close', (code, reason) => closeWith(b, code, reason));
  b.once('close', (code, reason) => closeWith(a, code, reason));
  if (a.readyState > a.OPEN) closeWith(b, 1011, Buffer.from('the other side is gone'));
  if (b.readyState > b.OPEN) closeWith(a, 1011, Buffer.from('the other side is gone'));
}

function pass(from: WebSocket, to: WebSocket): void {
  from.on('error', () => from.terminate());
  from.on('message', (data: RawData, binary: boolean) => {
    if (to.readyState !== to.OPEN) return;
    to.send(data, { binary }, () => {
      if (from.isPaused && to.bufferedAmount < HIGH_WATER_BYTES / 2) from.resume();
    });
    if (to.bufferedAmount > HIGH_WATER_BYTES) from.pause();
  });
  // One that was opened by us was held until there is somebody to take what comes.
  if (from.isPaused) from.resume();
}

/** Codes that may be sent are passed on; those that only describe a broken connection become 1011. */
function closeWith(socket: WebSocket, code: number, reason: Buffer): void {
  if (socket.readyState > socket.OPEN) return;
  // A paused socket would not see the other side's answer to the close.
  if (socket.isPaused) socket.resume();
  const sendable = code === 1000 || (code >= 3000 && code <= 4999);
  socket.close(sendable ? code : 1011, sendable ? reason : Buffer.from('the stream broke'));
}

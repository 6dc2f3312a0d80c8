import type { Duplex } from 'node:stream';
import type { Clock } from '../resources/ambient/clock.ts';

/** How long a client may go on sending after its answer, so that it comes to read it; in milliseconds. */
const LINGER_MS = 1_000;

/**
 * Writes a last answer and ends the connection. What the client still sends is read to nowhere: left unread, it would make the system take the
 * answer back, and keep the end of the connection from being seen.
 */
export function endSocket(socket: Duplex, answer: string | Uint8Array, clock: Clock): void {
  socket.end(answer);
  socket.resume();
  const stop = clock.after(LINGER_MS, () => socket.destroy());
  socket.once('close', stop);
}

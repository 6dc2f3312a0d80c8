import { MAX_MESSAGE_BYTES } from '../../resources/streams/channel-frames.ts';
import type { StreamRequest } from '../../resources/streams/control-messages.ts';
import type { Driver } from '../drivers/driver.ts';
import type { StreamSocket } from './stream-socket.ts';

/** Sends a guest's console. Resolves at its end; with `follow` that is when the guest is removed, the socket closes or the signal aborts. */
export async function serveLogs(
  socket: StreamSocket,
  request: Extract<StreamRequest, { kind: 'logs' }>,
  driver: Driver,
  signal: AbortSignal,
): Promise<void> {
  const options = {
    follow: request.follow,
    ...(request.tailLines === undefined ? {} : { tailLines: request.tailLines }),
  };
  const ends = AbortSignal.any([signal, socket.closed]);
  for await (const bytes of driver.logs(request.guestID, options, ends)) {
    for (let at = 0; at < bytes.length; at += MAX_MESSAGE_BYTES) {
      await socket.send(bytes.subarray(at, at + MAX_MESSAGE_BYTES));
    }
  }
}

import { isObject } from '../../resources/meta/object.ts';
import {
  CHANNEL,
  decodeFrame,
  encodeFrame,
  exitStatus,
  MAX_MESSAGE_BYTES,
} from '../../resources/streams/channel-frames.ts';
import type { StreamRequest } from '../../resources/streams/control-messages.ts';
import type { Driver, GuestProcess } from '../drivers/driver.ts';
import type { StreamSocket } from './stream-socket.ts';

type ExecStream = Extract<StreamRequest, { kind: 'exec' }>;

/** Until the client tells its own. */
const TERMINAL = { rows: 24, columns: 80 };

/**
 * Runs a command in a guest for the client at the other end of the socket. Resolves when the command has ended and all it wrote is sent; rejects when it
 * cannot be run or its streams broke. The command is killed when the socket closes or the signal aborts.
 */
export async function serveExec(
  socket: StreamSocket,
  request: ExecStream,
  driver: Driver,
  signal: AbortSignal,
): Promise<void> {
  const command = await driver.exec(
    request.guestID,
    { command: request.command, stdin: request.stdin, ...(request.tty ? { tty: TERMINAL } : {}) },
    AbortSignal.any([signal, socket.closed]),
  );
  const input = receiveInput(socket, request, command);
  // Input that cannot be delivered is no failure: commands may end without reading it, and a broken guest shows in `exit`.
  input.catch(() => {});
  const [exit] = await Promise.all([
    command.exit,
    sendOutput(socket, CHANNEL.stdout, command.stdout),
    sendOutput(socket, CHANNEL.stderr, command.stderr),
  ]);
  const status = new TextEncoder().encode(JSON.stringify(exitStatus(exit.code)));
  await socket.send(encodeFrame(CHANNEL.error, status));
}

async function receiveInput(socket: StreamSocket, request: ExecStream, command: GuestProcess): Promise<void> {
  for await (const message of socket.receive()) {
    const frame = decodeFrame(message);
    if (frame === undefined) continue;
    if (frame.channel === CHANNEL.resize) resize(command, frame.payload);
    if (!request.stdin) continue;
    if (frame.channel === CHANNEL.stdin && frame.payload.length > 0) await command.write(frame.payload);
    if (frame.channel === CHANNEL.close && frame.payload[0] === CHANNEL.stdin) await command.closeStdin();
  }
}

/** `{"Width":80,"Height":24}`; anything else is passed over, as clients' terminals may be of any kind. */
function resize(command: GuestProcess, payload: Uint8Array): void {
  let size: unknown;
  try {
    size = JSON.parse(new TextDecoder().decode(payload));
  } catch {
    return;
  }
  if (isObject(size) && isCells(size.Height) && isCells(size.Width)) command.resize(size.Height, size.Width);
}

function isCells(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 0xffff;
}

async function sendOutput(socket: StreamSocket, channel: number, output: AsyncIterable<Uint8Array>): Promise<void> {
  const most = MAX_MESSAGE_BYTES - 1;
  for await (const bytes of output) {
    for (let at = 0; at < bytes.length; at += most) {
      await socket.send(encodeFrame(channel, bytes.subarray(at, at + most)));
    }
  }
}

import type { RawData, WebSocket } from 'ws';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { isObject } from '../../resources/meta/object.ts';
import {
  CONTROL_PROTOCOL,
  PING_INTERVAL_MS,
  type ServerMessage,
  type StreamRequest,
} from '../../resources/streams/control-messages.ts';
import { parseStreamRequest } from '../../resources/streams/parse-stream-request.ts';
import { hostPath, openSocket, type ServerAddress } from './server-socket.ts';

export interface ControlConnectionOptions {
  readonly host: string;
  readonly server: ServerAddress;
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  readonly log: Logger;
  /** Called for each stream the server wants; must not throw. */
  readonly onDial: (ticket: string, stream: StreamRequest) => void;
}

/** Silence this long means the server, or the way to it, is gone: opening counts as silence too. */
const SILENCE_MS = 3 * PING_INTERVAL_MS;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/**
 * Keeps one control socket to the server until the signal aborts: opens it again after every loss, waiting longer each time it does not come up, and never
 * in step with other hosts. Resolves when the signal has aborted and the socket is closed.
 */
export async function keepControlConnection(options: ControlConnectionOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, random, host, server } = options;
  let failures = 0;
  while (!signal.aborted) {
    const { wasOpen, why } = await openSocket(server, hostPath(host, 'control'), CONTROL_PROTOCOL, signal).then(
      (socket) => oneConnection(socket, options, signal),
      (error: unknown) => ({ wasOpen: false, why: String(error) }),
    );
    if (signal.aborted) return;
    failures = wasOpen ? 1 : failures + 1;
    const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
    const delayMs = Math.round(ceiling * (0.5 + random() / 2));
    log.info('control socket lost', { why, againInMs: delayMs });
    await clock.sleep(delayMs, signal).catch(() => {});
  }
}

/** Resolves when the socket is closed, whatever closed it. */
function oneConnection(
  socket: WebSocket,
  options: ControlConnectionOptions,
  signal: AbortSignal,
): Promise<{ readonly wasOpen: boolean; readonly why: string }> {
  const { clock, log } = options;
  return new Promise((resolve) => {
    let wasOpen = false;
    let why = '';
    const giveUp = () => {
      why = `silent for ${SILENCE_MS / 1000} s`;
      socket.terminate();
    };
    let cancel = clock.after(SILENCE_MS, giveUp);
    const heard = () => {
      cancel();
      cancel = clock.after(SILENCE_MS, giveUp);
    };
    const leave = () => endSocket(socket);
    signal.addEventListener('abort', leave, { once: true });
    socket.on('open', () => {
      wasOpen = true;
      log.info('control socket open');
      heard();
    });
    socket.on('ping', heard);
    socket.on('message', (data, isBinary) => {
      heard();
      const message = isBinary ? undefined : parseMessage(data);
      if (message === undefined) log.error('control socket: a message nobody understands');
      else options.onDial(message.ticket, message.stream);
    });
    socket.on('error', (error) => {
      why = error.message;
    });
    socket.on('close', (code, reason) => {
      cancel();
      signal.removeEventListener('abort', leave);
      resolve({ wasOpen, why: why || `closed with ${code} ${reason.toString()}`.trim() });
    });
    if (signal.aborted) leave();
  });
}

/** Ends a socket now: nothing more is owed to the other side. */
function endSocket(socket: WebSocket): void {
  if (socket.readyState === socket.OPEN) socket.close(1000);
  // A peer that does not answer a close would hold us for ws's own half minute.
  socket.terminate();
}

function parseMessage(data: RawData): ServerMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(data.toString());
  } catch {
    return undefined;
  }
  if (!isObject(value) || value.type !== 'dial' || typeof value.ticket !== 'string') return undefined;
  const stream = parseStreamRequest(value.stream);
  return stream && { type: 'dial', ticket: value.ticket, stream };
}

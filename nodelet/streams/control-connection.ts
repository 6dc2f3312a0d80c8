import type { RawData, WebSocket } from 'ws';
import type { ServerChoice } from '../../apiserver/client/server-choice.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { isObject } from '../../resources/meta/object.ts';
import {
  CONTROL_PROTOCOL,
  PING_INTERVAL_MS,
  SECOND_NODELET_CLOSE,
  type ServerMessage,
  type StreamRequest,
} from '../../resources/streams/control-messages.ts';
import { parseStreamRequest } from '../../resources/streams/parse-stream-request.ts';
import type { Standing } from '../standing.ts';
import { readRefusal } from './second-nodelet.ts';
import { type ControlServers, hostPath, openSocket, type ServerAddress } from './server-socket.ts';

/** One process of a host's nodelet. */
export interface NodeletInstance {
  readonly id: string;
  /** Where people find it. */
  readonly where: string;
}

interface ControlConnectionOptions {
  readonly host: string;
  readonly control: ControlServers;
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  readonly log: Logger;
  /** Which process this is; without it servers do not tell it from another of that host. */
  readonly instance?: NodeletInstance | undefined;
  /** Told whether servers take this process. */
  readonly standing?: Standing;
  /** Called for each stream that a server wants; must not throw. That server waits for it, and no other. */
  readonly onDial: (ticket: string, stream: StreamRequest, server: ServerAddress) => void;
}

/** Silence this long means the server, or the way to it, is gone: opening counts as silence too. */
const SILENCE_MS = 3 * PING_INTERVAL_MS;
/** With another server to turn to, one that does not take the socket is not waited for longer than this. */
const OPENING_MS = 5_000;
/** Hosts that lose a server turn to the next one within this time, not all of them at once. */
const MOVING_MS = 500;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** Refused for another's sake: whose end is to be noticed soon. */
const LONGEST_REFUSED_MS = 5_000;

/**
 * Keeps one control socket to one of the servers until the signal aborts. After a loss the others are tried at once; when none takes it, all are
 * tried again, waiting longer each time, and never in step with other hosts. Resolves when the signal has aborted and the socket is closed.
 */
export async function keepControlConnection(options: ControlConnectionOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, control } = options;
  const { host, instance, standing } = options;
  const turns = new Turns(control.servers, options.random);
  const path = hostPath(host, 'control', instance && { instance: instance.id, where: instance.where });
  while (!signal.aborted) {
    const server = { url: turns.next(), ...(control.tls === undefined ? {} : { tls: control.tls }) };
    const open = control.open ?? openSocket;
    const lost = await open(server, path, CONTROL_PROTOCOL, signal).then(
      (socket) => oneConnection(socket, server, options, signal),
      (error: unknown): Lost => ({ wasOpen: false, second: false, why: String(error) }),
    );
    if (signal.aborted) return;
    const { why } = lost;
    const delayMs = Math.round(turns.lost(server.url, lost));
    if (lost.second) {
      if (standing?.refusal === undefined) log.error('this nodelet does not act', { server: server.url, why });
      standing?.refuse(why);
    } else log.info('control socket lost', { server: server.url, why, againInMs: delayMs });
    if (delayMs > 0) await clock.sleep(delayMs, signal).catch(() => {});
  }
}

/** How a connection ended. `second`: for the sake of another nodelet of this host. */
interface Lost {
  readonly wasOpen: boolean;
  readonly second: boolean;
  readonly why: string;
}

/** Whose turn it is to be tried, and when. */
class Turns {
  readonly #servers: ServerChoice;
  readonly #random: () => number;
  readonly #tried = new Set<string>();
  /** How often in a row each server was tried in vain. */
  #rounds = 0;

  constructor(servers: ServerChoice, random: () => number) {
    this.#servers = servers;
    this.#random = random;
  }

  next(): string {
    const [first = ''] = this.#servers.servers;
    return this.#servers.next(this.#tried) ?? first;
  }

  /** A socket to the server was lost, or did not come up. Answers how long to wait before the next try, in milliseconds. */
  lost(server: string, { wasOpen, second }: Lost): number {
    if (!second) this.#servers.failed(server);
    if (wasOpen) {
      this.#tried.clear();
      this.#rounds = 0;
    }
    this.#tried.add(server);
    if (this.#tried.size < this.#servers.servers.length) return wasOpen ? MOVING_MS * this.#random() : 0;
    this.#tried.clear();
    this.#rounds += 1;
    const ceiling = Math.min(second ? LONGEST_REFUSED_MS : LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#rounds - 1));
    return ceiling * (0.5 + this.#random() / 2);
  }
}

/** Resolves when the socket is closed, whatever closed it. */
function oneConnection(
  socket: WebSocket,
  server: ServerAddress,
  options: ControlConnectionOptions,
  signal: AbortSignal,
): Promise<Lost> {
  const { clock, log, control, standing } = options;
  const openingMs = control.servers.servers.length > 1 ? OPENING_MS : SILENCE_MS;
  return new Promise((resolve) => {
    let wasOpen = false;
    let second = false;
    let why = '';
    const giveUp = () => {
      why = `silent for ${(wasOpen ? SILENCE_MS : openingMs) / 1000} s`;
      control.servers.silent(server.url);
      socket.terminate();
    };
    let cancel = clock.after(openingMs, giveUp);
    const heard = () => {
      cancel();
      cancel = clock.after(SILENCE_MS, giveUp);
    };
    const leave = () => endSocket(socket);
    signal.addEventListener('abort', leave, { once: true });
    socket.on('open', () => {
      wasOpen = true;
      log.info('control socket open', { server: server.url });
      standing?.accept();
      heard();
    });
    socket.on('unexpected-response', (_, response) => {
      void readRefusal(response).then((refusal) => {
        ({ why, second } = refusal);
        socket.terminate();
      });
    });
    socket.on('ping', heard);
    socket.on('message', (data, isBinary) => {
      heard();
      const message = isBinary ? undefined : parseMessage(data);
      if (message === undefined) log.error('control socket: a message nobody understands');
      else options.onDial(message.ticket, message.stream, server);
    });
    socket.on('error', (error) => {
      why ||= error.message;
    });
    socket.on('close', (code, reason) => {
      cancel();
      signal.removeEventListener('abort', leave);
      second ||= code === SECOND_NODELET_CLOSE;
      resolve({ wasOpen, second, why: why || `closed with ${code} ${reason.toString()}`.trim() });
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

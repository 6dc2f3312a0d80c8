import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RawData, WebSocket } from 'ws';
import { openPki } from '../../../apiserver/pki/pki-files.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { CHANNEL_PROTOCOL } from '../../../resources/streams/channel-frames.ts';
import { CONTROL_PROTOCOL, DIALBACK_PROTOCOL } from '../../../resources/streams/control-messages.ts';
import { makeQuota, VMS_URL } from '../../harness/quota-world.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../../harness/server.ts';
import { until } from '../../harness/until.ts';
import { addHost, EXEC, HeardNodelet, HOSTS, runWeb } from './host-with-web.ts';

export const LOGS = `${VMS_URL}/web/logs`;

/** A listening server with hosts mac-1 and mac-2, and VM `web` running on mac-1. */
export class StreamWorld implements AsyncDisposable {
  readonly test: TestServer;
  readonly listening: ListeningServer;
  readonly #folder: string;
  readonly #pairs: Readonly<Record<string, { cert: string; key: string }>>;
  readonly #sockets: WebSocket[] = [];

  private constructor(test: TestServer, listening: ListeningServer, folder: string, pairs: StreamWorld['pairs']) {
    this.test = test;
    this.listening = listening;
    this.#folder = folder;
    this.#pairs = pairs;
  }

  get pairs(): Readonly<Record<string, { cert: string; key: string }>> {
    return this.#pairs;
  }

  static async start(clock: Clock = systemClock): Promise<StreamWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'coppice-streams-'));
    const test = await startTestServer({ clock });
    const listening = await listenTestServer(test, folder);
    const pki = await openPki(folder, ['127.0.0.1', 'localhost'], systemClock, systemIds);
    const { app } = test.server;
    await makeQuota(app, 9);
    const pairs: Record<string, { cert: string; key: string }> = {};
    for (const name of ['mac-1', 'mac-2']) pairs[name] = await addHost(app, pki, name);
    const world = new StreamWorld(test, listening, folder, pairs);
    await runWeb(app);
    return world;
  }

  socket(path: string, protocols: string | string[], options: WebSocket.ClientOptions = {}): WebSocket {
    const url = this.listening.url.replace('https', 'wss') + path;
    const socket = new WebSocket(url, protocols, { ca: this.listening.caCert, perMessageDeflate: false, ...options });
    socket.on('error', () => {});
    this.#sockets.push(socket);
    return socket;
  }

  /** A client's stream, as the operator. */
  client(path = EXEC, protocols: string | string[] = CHANNEL_PROTOCOL): WebSocket {
    return this.socket(path, protocols, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } });
  }

  /** The nodelet's control socket, open and known to the server. */
  async connect(host = 'mac-1', options: WebSocket.ClientOptions = {}): Promise<HeardNodelet> {
    const { hub } = this.test.server;
    const socket = this.socket(`${HOSTS}/${host}/control`, CONTROL_PROTOCOL, { ...this.#pairs[host], ...options });
    await once(socket, 'open');
    await until(`${host} is connected`, () => hub.hosts().includes(host));
    return new HeardNodelet(socket, (ticket) => this.dialBack(host, ticket));
  }

  dialBack(host: string, ticket: string): WebSocket {
    return this.socket(`${HOSTS}/${host}/dialback?ticket=${ticket}`, DIALBACK_PROTOCOL, { ...this.#pairs[host] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    await this.listening[Symbol.asyncDispose]();
    await this.test[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The HTTP answer to a handshake that was refused. */
export async function refusalOf(socket: WebSocket): Promise<{
  status: number;
  headers: IncomingMessage['headers'];
  body: { reason?: string; code?: number; message?: string; details?: { causes?: { reason: string }[] } };
}> {
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  let text = '';
  for await (const piece of response) text += String(piece);
  return { status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) };
}

/** How a socket closed. */
export async function closeOf(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  return { code, reason: reason.toString() };
}

export async function messageOf(socket: WebSocket): Promise<string> {
  const [data] = (await once(socket, 'message')) as [RawData];
  return data.toString();
}

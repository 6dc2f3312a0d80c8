import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { WebSocket } from 'ws';
import { hostIdentity } from '../../../apiserver/auth/identity.ts';
import type { KeyPair } from '../../../apiserver/pki/leaf-life.ts';
import type { Pki } from '../../../apiserver/pki/pki-files.ts';
import type { App } from '../../../apiserver/requests/server-request.ts';
import type { ServerMessage } from '../../../resources/streams/control-messages.ts';
import { aHost } from '../../harness/builders.ts';
import { createVM, VMS_URL } from '../../harness/quota-world.ts';
import { send } from '../../harness/raw.ts';
import { until } from '../../harness/until.ts';

export const MERGE = { 'content-type': 'application/merge-patch+json' };
export const HOSTS = '/apis/coppice.dev/v1/hosts';
export const EXEC = `${VMS_URL}/web/exec?command=true`;

/** Makes a Host that is well, and answers what shows that one is its nodelet. */
export async function addHost(app: App, pki: Pki, name: string): Promise<KeyPair> {
  const body = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name } };
  const uid = String((await send(app, 'POST', HOSTS, { body })).body.metadata?.uid);
  await send(app, 'PATCH', `${HOSTS}/${name}/status`, { body: { status: aHost().status }, headers: MERGE });
  const { user, groups } = hostIdentity(name, uid);
  return pki.issueClient({ commonName: user, organizations: groups.slice(0, 1), serial: uid });
}

/** Makes VM `web`, which runs on mac-1. */
export async function runWeb(app: App): Promise<void> {
  await createVM(app, 'web');
  await patchVM(app, 'web', { spec: { hostName: 'mac-1', epoch: 1 } });
  const guest = { id: 'g', power: 'Running', epoch: 1 };
  await patchVM(app, 'web/status', { status: { phase: 'Running', guest } });
}

export async function patchVM(app: App, path: string, body: object): Promise<void> {
  const answer = await send(app, 'PATCH', `${VMS_URL}/${path}`, { body, headers: MERGE });
  assert.equal(answer.status, 200, answer.text);
}

/** What a nodelet hears on its control socket, and how it opens the streams that it is asked for. */
export class HeardNodelet {
  readonly socket: WebSocket;
  readonly #dialBack: (ticket: string, options: WebSocket.ClientOptions) => WebSocket;
  readonly #dials: ServerMessage[] = [];

  constructor(socket: WebSocket, dialBack: (ticket: string, options: WebSocket.ClientOptions) => WebSocket) {
    this.socket = socket;
    this.#dialBack = dialBack;
    socket.on('message', (data) => this.#dials.push(JSON.parse(data.toString()) as ServerMessage));
  }

  /** How many streams it was asked for and did not open. */
  get waiting(): number {
    return this.#dials.length;
  }

  /** The next stream it is asked for. */
  async dial(): Promise<ServerMessage> {
    await until('a stream is asked for', () => this.#dials.length > 0);
    return this.#dials.shift() as ServerMessage;
  }

  /** Opens the next stream it is asked for. */
  async answer(options: WebSocket.ClientOptions = {}): Promise<WebSocket> {
    const { ticket } = await this.dial();
    const socket = this.#dialBack(String(ticket), options);
    await once(socket, 'open');
    return socket;
  }
}

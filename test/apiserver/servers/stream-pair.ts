import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { serverIdentity } from '../../../apiserver/auth/identity.ts';
import { openPki, type Pki } from '../../../apiserver/pki/pki-files.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { lineLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { CHANNEL_PROTOCOL } from '../../../resources/streams/channel-frames.ts';
import { CONTROL_PROTOCOL, DIALBACK_PROTOCOL } from '../../../resources/streams/control-messages.ts';
import { makeQuota } from '../../harness/quota-world.ts';
import { type Answer, send } from '../../harness/raw.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../../harness/server.ts';
import { until } from '../../harness/until.ts';
import { addHost, EXEC, HeardNodelet, HOSTS, MERGE, runWeb } from '../streams/host-with-web.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/coppice-system/leases';

/** One of the servers, as it is reached. */
export interface PairedServer {
  readonly name: string;
  readonly test: TestServer;
  readonly listening: ListeningServer;
  readonly announced: AsyncDisposable;
}

/** Two servers over one store that know each other, with Host mac-1 and VM `web` running there. */
export class StreamPair implements AsyncDisposable {
  readonly a: PairedServer;
  readonly b: PairedServer;
  readonly pki: Pki;
  /** What both have logged. */
  readonly said: readonly string[];
  readonly #held: AsyncDisposableStack;
  readonly #host: { cert: string; key: string };
  readonly #sockets: WebSocket[] = [];

  private constructor(
    servers: readonly [PairedServer, PairedServer],
    pki: Pki,
    host: StreamPair['hostPair'],
    said: readonly string[],
    held: AsyncDisposableStack,
  ) {
    [this.a, this.b] = servers;
    this.said = said;
    this.pki = pki;
    this.#host = host;
    this.#held = held;
  }

  get hostPair(): { cert: string; key: string } {
    return this.#host;
  }

  static async start(clock: Clock = systemClock): Promise<StreamPair> {
    const held = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'coppice-pair-'));
    held.defer(() => rmSync(folder, { recursive: true, force: true }));
    const store = held.use(await MemoryStore.open({ ids: systemIds }));
    const pki = await openPki(folder, ['127.0.0.1', 'localhost'], systemClock, systemIds);
    await pki.serverLeaf();
    const said: string[] = [];
    const log = lineLogger(
      (line) => said.push(line),
      () => 0,
    );
    const start = async (name: string): Promise<PairedServer> => {
      const test = held.use(await startTestServer({ store, clock, name, log }));
      const listening = held.use(await listenTestServer(test, folder));
      const announced = held.use(await test.server.announce(announcementOf(name, listening.url, pki)));
      return { name, test, listening, announced };
    };
    const servers = [await start('a'), await start('b')] as const;
    const app = servers[0].test.server.app;
    await makeQuota(app, 9);
    const host = await addHost(app, pki, 'mac-1');
    const pair = new StreamPair(servers, pki, host, said, held);
    await runWeb(app);
    return pair;
  }

  socket(server: PairedServer, path: string, protocol: string, options: WebSocket.ClientOptions = {}): WebSocket {
    const url = server.listening.url.replace('https', 'wss') + path;
    const ca = server.listening.caCert;
    const socket = new WebSocket(url, protocol, { ca, perMessageDeflate: false, ...options });
    socket.on('error', () => {});
    this.#sockets.push(socket);
    return socket;
  }

  /** A client's stream, as the operator. */
  client(server: PairedServer, path = EXEC, options: WebSocket.ClientOptions = {}): WebSocket {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    return this.socket(server, path, CHANNEL_PROTOCOL, { headers, ...options });
  }

  /** The control socket of mac-1 at a server, once the Lease tells of it. */
  async connect(server: PairedServer, options: WebSocket.ClientOptions = {}): Promise<HeardNodelet> {
    const socket = this.socket(server, `${HOSTS}/mac-1/control`, CONTROL_PROTOCOL, { ...this.#host, ...options });
    await once(socket, 'open');
    const nodelet = new HeardNodelet(socket, (ticket, others) => {
      const path = `${HOSTS}/mac-1/dialback?ticket=${ticket}`;
      return this.socket(server, path, DIALBACK_PROTOCOL, { ...this.#host, ...others });
    });
    await until(`mac-1 is connected to ${server.name}`, async () => (await this.holder()) === server.name);
    return nodelet;
  }

  /** Who holds mac-1, by its Lease. */
  async holder(): Promise<unknown> {
    return (await this.lease('host-mac-1')).spec?.holderIdentity;
  }

  async lease(name: string): Promise<Answer> {
    return (await send(this.b.test.server.app, 'GET', `${LEASES}/${name}`)).body;
  }

  async writeLease(name: string, body: object): Promise<void> {
    const answer = await send(this.b.test.server.app, 'PATCH', `${LEASES}/${name}`, { body, headers: MERGE });
    assert.equal(answer.status, 200, answer.text);
  }

  /** As when the process is killed: sockets end, and what it wrote of itself and its hosts stays. */
  async kill(server: PairedServer): Promise<void> {
    const held = (await this.holder()) === server.name;
    await server.listening[Symbol.asyncDispose]();
    if (!held) return;
    await until('it let go of mac-1', async () => (await this.holder()) !== server.name);
    await this.writeLease('host-mac-1', { spec: { holderIdentity: server.name } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    await this.#held.disposeAsync();
  }
}

/** What a server of a test tells of itself. */
function announcementOf(name: string, address: string, pki: Pki) {
  const { user, groups } = serverIdentity(name);
  const issue = () => pki.issueClient({ commonName: user, organizations: groups.slice(0, 1) });
  return { uid: `uid-of-${name}`, address, tls: async () => ({ ca: pki.caCert, ...(await issue()) }) };
}

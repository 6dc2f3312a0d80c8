import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { hostIdentity } from '../../../apiserver/auth/identity.ts';
import { openPki, type Pki } from '../../../apiserver/pki/pki-files.ts';
import { runPlainly } from '../../../cli/serve/drivers.ts';
import { startNodelets } from '../../../cli/serve/nodelets.ts';
import { Semaphore } from '../../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../../nodelet/drivers/serial-driver.ts';
import { SimDriver } from '../../../nodelet/drivers/sim/sim-driver.ts';
import { lineLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { Host } from '../../../resources/kinds/host.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { CONTROL_PROTOCOL, HOST_LEASE_NAMESPACE, hostLeaseName } from '../../../resources/streams/control-messages.ts';
import { type ListeningServer, listenTestServer, startTestServer, type TestServer } from '../../harness/server.ts';
import { eventually } from '../../nodelet/drivers/eventually.ts';
import { memorySimHost } from '../../nodelet/drivers/sim/memory-sim-host.ts';

const GIB = 1024 ** 3;
const NAME = 'mac-1';

describe('the hosts of up', () => {
  let folder: string;
  let test: TestServer;
  let listening: ListeningServer;
  let pki: Pki;
  let driver: SerialDriver;
  let fleet: Awaited<ReturnType<typeof startNodelets>>;
  const lines: string[] = [];
  const sockets: WebSocket[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-hosts-'));
    test = await startTestServer();
    listening = await listenTestServer(test, join(folder, 'pki'));
    pki = await openPki(join(folder, 'pki'), ['127.0.0.1', 'localhost'], systemClock, systemIds);
    const sim = new SimDriver({
      host: memorySimHost(),
      capacity: { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 64 * GIB },
      clock: systemClock,
    });
    driver = new SerialDriver(sim, { clock: systemClock, coldStarts: new Semaphore(2) });
    fleet = await startNodelets([{ name: NAME, run: runPlainly(driver), group: undefined, real: false }], {
      home: { host: (name) => join(folder, 'hosts', name) },
      server: test.server,
      store: test.store,
      pki,
      url: listening.url,
      clock: systemClock,
      random: () => 0,
      log: lineLogger(
        (line) => lines.push(line),
        () => systemClock.now(),
      ),
    });
  });
  after(async () => {
    for (const socket of sockets) socket.terminate();
    await fleet[Symbol.asyncDispose]();
    await driver[Symbol.asyncDispose]();
    await listening[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const hosts = () => test.client.resource<Host>(Host);
  const find = async () => {
    try {
      return await hosts().get(NAME);
    } catch (error) {
      if (error instanceof ApiError && error.reason === 'NotFound') return undefined;
      throw error;
    }
  };
  const connections = () => lines.filter((line) => line.includes('control socket open')).length;
  const isConnected = async () => {
    const leases = test.client.resource<CoordinationLease>(CoordinationLease, HOST_LEASE_NAMESPACE);
    const list = await leases.list();
    return list.items.find(({ metadata }) => metadata.name === hostLeaseName(NAME))?.spec?.holderIdentity === 'test';
  };

  /** Takes the place of the host's control socket; resolves when the host took it back. */
  async function displace(uid: string): Promise<void> {
    const { user, groups } = hostIdentity(NAME);
    const leaf = await pki.issueClient({ commonName: user, organizations: groups.slice(0, 1), serial: uid });
    const path = `/apis/coppice.dev/v1/hosts/${NAME}/control`;
    const url = `${listening.url.replace('https:', 'wss:')}${path}`;
    const socket = new WebSocket(url, [CONTROL_PROTOCOL], { ca: pki.caCert, ...leaf });
    sockets.push(socket);
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('close', (code, reason) => {
        if (code === 4000) resolve();
        else reject(new Error(`closed with ${code} ${reason}`));
      });
    });
  }

  it('register and connect, and come back when their Host is deleted, with a certificate for the new one', async () => {
    const first = await eventually('the host is there', async () => (await find())?.metadata.uid);
    await eventually('it is connected', isConnected);
    assert.equal(connections(), 1);

    await hosts().delete(NAME);
    const second = await eventually('it is there again', async () => {
      const uid = (await find())?.metadata.uid;
      return uid !== first && uid;
    });
    await eventually('it tells of itself again', async () => (await find())?.status?.capacity !== undefined);
    await assert.rejects(displace(first), /40[34]/);
    await eventually('it has connected a second time', () => connections() === 2);
    await displace(second);
    await eventually('it is connected again', isConnected);
  });
});

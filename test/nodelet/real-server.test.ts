import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { hostIdentity } from '../../apiserver/auth/identity.ts';
import type { ResourceClient } from '../../apiserver/client/client.ts';
import { ServerChoice } from '../../apiserver/client/server-choice.ts';
import { openPki } from '../../apiserver/pki/pki-files.ts';
import { hasReason } from '../../controllers/runtime/write.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import { SimDriver } from '../../nodelet/drivers/sim/sim-driver.ts';
import { type RunningNodelet, runNodelet } from '../../nodelet/run-nodelet.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { isTrue, setConditions } from '../../resources/meta/condition.ts';
import { CHANNEL_PROTOCOL, exitCodeOf } from '../../resources/streams/channel-frames.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../harness/server.ts';
import { eventually } from './drivers/eventually.ts';
import { memorySimHost } from './drivers/sim/memory-sim-host.ts';
import { received } from './streams/stream-server.ts';

const GIB = 1024 ** 3;
const HOST = 'mac-1';

describe('nodelet with the real server', () => {
  let folder: string;
  let server: TestServer;
  let listening: ListeningServer;
  let driver: SerialDriver;
  let nodelet: RunningNodelet;
  const ending = new AbortController();
  let vms: ResourceClient<VM>;
  let hosts: ResourceClient<Host>;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-story-'));
    server = await startTestServer();
    listening = await listenTestServer(server, join(folder, 'pki'));
    const pki = await openPki(join(folder, 'pki'), ['127.0.0.1', 'localhost'], systemClock, systemIds);
    const leaf = await pki.issueClient({ commonName: `system:host:${HOST}`, organizations: ['system:hosts'] });
    const sim = new SimDriver({
      host: memorySimHost(),
      capacity: { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 64 * GIB },
      clock: systemClock,
      startMs: { linux: 1, macos: 1 },
    });
    driver = new SerialDriver(sim, { clock: systemClock, coldStarts: new Semaphore(2) });
    nodelet = runNodelet(
      {
        name: HOST,
        driver,
        client: server.as(hostIdentity(HOST)),
        control: {
          servers: new ServerChoice([listening.url], () => 0),
          tls: { ca: listening.caCert, cert: leaf.cert, key: leaf.key },
        },
        clock: systemClock,
        random: () => 0.5,
        log: silentLogger,
        root: join(folder, HOST),
        storeIdentity: async () => ({ uid: server.store.uid, revision: await server.store.revision() }),
      },
      ending.signal,
    );
    vms = server.client.resource<VM>(VM, 'demo');
    hosts = server.client.resource<Host>(Host);
  });
  after(async () => {
    ending.abort();
    await nodelet.done;
    await driver[Symbol.asyncDispose]();
    await listening[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const ready = () =>
    eventually('the VM is ready', async () => {
      const vm = await vms.get('hello');
      return isTrue(vm, 'Ready') && vm;
    });

  it('registers its host as the host itself, and tells of the image', async () => {
    await create(Image, {
      kind: 'Image',
      metadata: { name: 'tiny' },
      spec: { guestOS: 'linux', source: { path: 'tiny' } },
    });
    const host = await eventually('the image is found', async () => {
      const found = await hosts.get(HOST).catch(orNotFound);
      return found?.status?.images?.length === 1 && found;
    });
    assert.equal(host.spec.group, 'default');
    assert.equal(host.status?.allocatable?.memory, '14Gi');
    assert.ok(isTrue(host, 'DriverReady'));
  });

  it('runs a VM bound to it', async () => {
    const host = await hosts.get(HOST);
    const digest = host.status?.images?.[0]?.digest;
    const conditions = setConditions(host, systemClock.now(), [
      { type: 'Ready', status: 'True', reason: 'Alive', message: 'as host-liveness says' },
    ]);
    await hosts.patch(HOST, { status: { conditions } }, { subresource: 'status' });
    await server.client.resource<Image>(Image).patch('tiny', { status: { digest } }, { subresource: 'status' });
    await create(Tenant, { kind: 'Tenant', metadata: { name: 'demo' }, spec: {} });
    const spec = { image: 'tiny', size: { vcpus: 1, memory: '128Mi' } };
    await create(VM, { kind: 'VM', metadata: { name: 'hello', namespace: 'demo' }, spec });
    await vms.patch('hello', { spec: { hostName: HOST, epoch: 1 } });
    const vm = await ready();
    assert.equal(vm.status?.guest?.id, vm.metadata.uid);
    assert.equal(vm.status?.phase, 'Running');
  });

  it('serves exec and logs over sockets it dials back', async () => {
    await eventually('the control socket is up', () => server.server.hub.hosts().includes(HOST));
    const path = '/apis/coppice.dev/v1/namespaces/demo/vms/hello/exec';
    const socket = new WebSocket(
      `${listening.url.replace('https', 'wss')}${path}?command=sh&command=-c&command=exit+7`,
      CHANNEL_PROTOCOL,
      {
        ca: listening.caCert,
        headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
      },
    );
    const { status } = await received(socket);
    assert.deepEqual(exitCodeOf(status as Parameters<typeof exitCodeOf>[0]), { code: 7 });
    const body = await server.client.stream({ method: 'GET', path: path.replace('/exec', '/logs') });
    let log = '';
    for await (const bytes of body) log += Buffer.from(bytes).toString();
    assert.match(log, /simulated guest demo\/hello/);
  });

  it('stops, starts, and lets go of it', async () => {
    await vms.patch('hello', { spec: { power: 'Stopped' } });
    await eventually('it is stopped', async () => (await vms.get('hello')).status?.phase === 'Stopped');
    await vms.patch('hello', { spec: { power: 'Running' } });
    await ready();
    await vms.delete('hello');
    await eventually('the object is gone', async () => (await vms.get('hello').catch(orNotFound)) === undefined);
    assert.deepEqual(await driver.list(ending.signal), []);
  });

  async function create(kind: typeof VM | typeof Image | typeof Tenant, object: object): Promise<void> {
    const namespace = kind.namespaced ? 'demo' : undefined;
    await server.client.json({
      method: 'POST',
      path: server.client.resource(kind, namespace).path(),
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode(JSON.stringify({ apiVersion: 'coppice.dev/v1', ...object })),
    });
  }
});

function orNotFound(error: unknown): undefined {
  if (!hasReason(error, 'NotFound')) throw error;
}

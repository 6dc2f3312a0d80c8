import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostIdentity, OPERATOR } from '../../apiserver/auth/identity.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import { ServerChoice } from '../../apiserver/client/server-choice.ts';
import { openPki } from '../../apiserver/pki/pki-files.ts';
import { Controllers } from '../../controllers/run.ts';
import { Semaphore } from '../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../nodelet/drivers/serial-driver.ts';
import { HostFaults } from '../../nodelet/drivers/sim/faults/host-faults.ts';
import { HostLives } from '../../nodelet/drivers/sim/faults/host-lives.ts';
import { SimDriver } from '../../nodelet/drivers/sim/sim-driver.ts';
import { runNodelet } from '../../nodelet/run-nodelet.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Event } from '../../resources/kinds/event.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { hurried } from '../harness/hurried-clock.ts';
import { type ListeningServer, listenTestServer, startTestServer, type TestServer } from '../harness/server.ts';
import { eventually } from './drivers/eventually.ts';
import { memorySimHost } from './drivers/sim/memory-sim-host.ts';

const GIB = 1024 ** 3;
const HOST = 'mac-1';
/** A host is judged silent within a few seconds, where all that judge it are in a hurry. */
const clock = hurried(20);
const DEADLINE_MS = 60_000;

describe('a host with faults, server and controllers', function () {
  this.timeout(300_000);
  let folder: string;
  let server: TestServer;
  let listening: ListeningServer;
  let controllers: Controllers;
  let faults: HostFaults;
  let running: Promise<void>;
  const ending = new AbortController();
  let client: ApiClient;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-faults-'));
    server = await startTestServer({ clock });
    client = new ApiClient(server.server.transportFor(OPERATOR));
    listening = await listenTestServer(server, join(folder, 'pki'));
    const transportFor = (user: string) =>
      server.server.transportFor({ user, groups: ['system:controllers', 'system:authenticated'] });
    controllers = new Controllers({
      transportFor,
      clock,
      ids: systemIds,
      random: () => 0.5,
      log: silentLogger,
      shared: false,
    });
    faults = new HostFaults({ host: HOST, faults: [], seed: 1, clock, log: silentLogger });
    running = (await openHost())();
    await create(Tenant, { metadata: { name: 'demo' }, spec: {} });
    await create(Image, { metadata: { name: 'tiny' }, spec: { guestOS: 'linux', source: { path: 'tiny' } } });
    const spec = { image: 'tiny', size: { vcpus: 1, memory: '128Mi' } };
    await create(VM, { metadata: { name: 'hello', namespace: 'demo' }, spec });
    await becomes('the VM is ready', ['True', 'True', 'Running']);
  });
  after(async () => {
    ending.abort();
    await running;
    faults[Symbol.dispose]();
    await controllers[Symbol.asyncDispose]();
    await listening[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => faults.heal());

  /** Resolves with what runs the host. */
  async function openHost(): Promise<() => Promise<void>> {
    const pki = await openPki(join(folder, 'pki'), ['127.0.0.1', 'localhost'], systemClock, systemIds);
    const { cert, key } = await pki.issueClient({ commonName: `system:host:${HOST}`, organizations: ['system:hosts'] });
    const capacity = { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 64 * GIB };
    const host = memorySimHost();
    const lives = new HostLives({
      host: HOST,
      faults,
      clock,
      onCrash: () => {},
      openDriver: async (reach) =>
        new SerialDriver(new SimDriver({ host, capacity, clock, faults, reach }), {
          clock,
          coldStarts: new Semaphore(2),
        }),
    });
    const storeIdentity = async () => ({ uid: server.store.uid, revision: await server.store.revision() });
    return () =>
      lives.run(
        (outside, signal) =>
          runNodelet(
            {
              name: HOST,
              driver: outside.driver,
              client: new ApiClient(outside.transport(server.server.transportFor(hostIdentity(HOST)))),
              control: {
                servers: new ServerChoice([listening.url], () => 0),
                tls: { ca: listening.caCert, cert, key },
                open: outside.open,
              },
              clock: outside.clock(clock),
              random: () => 0.5,
              log: silentLogger,
              root: join(folder, HOST),
              storeIdentity: (asked) => outside.ask(storeIdentity, asked),
            },
            signal,
          ).done,
        ending.signal,
      );
  }

  async function create<T extends KubeObject>(kind: ResourceRef & { kind: string }, object: object): Promise<T> {
    const apiVersion = apiVersionOf(kind);
    const body = new TextEncoder().encode(JSON.stringify({ apiVersion, kind: kind.kind, ...object }));
    const path = client.resource(kind, kind === VM ? 'demo' : undefined).path();
    return (await client.json({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body })) as T;
  }

  const vm = () => client.resource<VM>(VM, 'demo').get('hello');
  const host = () => client.resource<Host>(Host).get(HOST);
  /** Ready of the Host and of the VM, and the VM's phase. */
  const becomes = (what: string, [hostReady, vmReady, phase]: readonly [string, string, string]) =>
    eventually(
      what,
      async () => {
        const [h, v] = [await host(), await vm()];
        const is = [findCondition(h, 'Ready')?.status, findCondition(v, 'Ready')?.status, v.status?.phase];
        return is.join() === [hostReady, vmReady, phase].join() && v;
      },
      DEADLINE_MS,
    );

  it('is not lost in a partition: its VM is not failed, its guest not another, and what was asked meanwhile is done', async () => {
    const before = await vm();
    faults.add([{ fault: 'Partition' }]);
    const cut = await becomes('it is silent', ['Unknown', 'Unknown', 'Running']);
    assert.equal(findCondition(cut, 'Ready')?.reason, 'HostUnreachable');
    assert.equal(findCondition(await host(), 'Ready')?.reason, 'NodeletSilent');
    await client.resource<VM>(VM, 'demo').patch('hello', { spec: { power: 'Paused' } });
    faults.heal();
    const paused = await becomes('it is back', ['True', 'False', 'Paused']);
    assert.equal(paused.status?.startedAt, before.status?.startedAt);
    assert.deepEqual({ ...paused.status?.guest, power: 'Running' }, before.status?.guest);
    await client.resource<VM>(VM, 'demo').patch('hello', { spec: { power: 'Running' } });
    await becomes('it runs on', ['True', 'True', 'Running']);
    const events = (await client.resource<Event>(Event, 'default').list()).items;
    const reasons = events.filter(({ involvedObject }) => involvedObject.name === HOST).map(({ reason }) => reason);
    assert.ok(reasons.includes('NodeletSilent'), reasons.join());
  });

  it('is taken for silent without its heartbeat, though it goes on doing what it is told', async () => {
    faults.add([{ fault: 'LostHeartbeat' }]);
    await becomes('it is silent', ['Unknown', 'Unknown', 'Running']);
    await client.resource<VM>(VM, 'demo').patch('hello', { spec: { power: 'Paused' } });
    await eventually('the guest is paused', async () => (await vm()).status?.guest?.power === 'Paused', DEADLINE_MS);
    assert.equal(findCondition(await host(), 'Ready')?.status, 'Unknown');
    await client.resource<VM>(VM, 'demo').patch('hello', { spec: { power: 'Running' } });
    faults.heal();
    await becomes('it is heard again', ['True', 'True', 'Running']);
  });
});

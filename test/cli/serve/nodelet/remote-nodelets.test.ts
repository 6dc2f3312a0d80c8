import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostIdentity } from '../../../../apiserver/auth/identity.ts';
import type { HostAuthority } from '../../../../apiserver/enrollment/host-enrollment.ts';
import { listen } from '../../../../apiserver/listen.ts';
import { openPki } from '../../../../apiserver/pki/pki-files.ts';
import { runPlainly } from '../../../../cli/serve/drivers.ts';
import { startRemoteNodelets } from '../../../../cli/serve/nodelet/remote-nodelets.ts';
import { Semaphore } from '../../../../nodelet/drivers/semaphore.ts';
import { SerialDriver } from '../../../../nodelet/drivers/serial-driver.ts';
import { SimDriver } from '../../../../nodelet/drivers/sim/sim-driver.ts';
import { newHostKey } from '../../../../nodelet/identity/host-key.ts';
import { IdentityFile } from '../../../../nodelet/identity/identity-file.ts';
import { requestCertificate } from '../../../../nodelet/identity/request-certificate.ts';
import { silentLogger } from '../../../../resources/ambient/log.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../../resources/ambient/system-ids.ts';
import { Host } from '../../../../resources/kinds/host.ts';
import { hurried } from '../../../harness/hurried-clock.ts';
import { listenTestServer, startTestServer } from '../../../harness/server.ts';
import { until } from '../../../harness/until.ts';
import { memorySimHost } from '../../../nodelet/drivers/sim/memory-sim-host.ts';

const NAMES = ['127.0.0.1', 'localhost'];
const GIB = 1024 ** 3;
const signal = new AbortController().signal;

describe('hosts apart from their servers', function () {
  this.timeout(60_000);

  it('go by a renewed certificate without a restart: where the old one is of no use, they connect and write', async () => {
    await using held = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'coppice-remote-'));
    held.defer(() => rm(folder, { recursive: true, force: true }));
    const [before, after] = await Promise.all(
      ['pki', 'next'].map((name) => openPki(join(folder, name), NAMES, systemClock, systemIds)),
    );
    assert.ok(before !== undefined && after !== undefined);
    const authority: { issuing: typeof before; trusted: string } = { issuing: before, trusted: before.caCert };
    const hostAuthority: HostAuthority = {
      get caCert() {
        return authority.trusted;
      },
      certifyClient: (subject, key) => authority.issuing.certifyClient(subject, key),
    };
    const test = held.use(await startTestServer({ hostAuthority }));
    const listening = await listenTestServer(test, join(folder, 'pki'));
    held.defer(() => listening[Symbol.asyncDispose]());
    const { url } = listening;
    const hosts = test.client.resource<Host>(Host);
    const wish = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' }, spec: { group: 'far' } };
    const { uid } = (await hosts.create(wish)).metadata;

    const home = { host: (name: string) => join(folder, 'hosts', name) };
    const file = new IdentityFile(home.host('mac-1'));
    const own = test.as(hostIdentity('mac-1', uid));
    const credentials = await requestCertificate(own, 'mac-1', await newHostKey(), signal);
    await file.write({ enrolled: { token: 't', credentials } });
    const capacity = { vcpus: 8, memoryBytes: 16 * GIB, diskBytes: 64 * GIB };
    const sim = new SimDriver({ host: memorySimHost(), capacity, clock: systemClock });
    const driver = held.use(new SerialDriver(sim, { clock: systemClock, coldStarts: new Semaphore(2) }));
    const plan = { name: 'mac-1', run: runPlainly(driver), group: undefined, real: false };
    const clock = hurried(20);
    held.use(
      startRemoteNodelets([plan], [{ name: 'mac-1', file, credentials }], {
        home,
        instance: { id: 'one', where: 'here' },
        servers: [url],
        clock,
        random: () => 0.5,
        log: silentLogger,
      }),
    );
    const { hub } = test.server;
    const observed = async (generation: number) => (await hosts.get('mac-1')).status?.observedGeneration === generation;
    await until('it is connected', () => hub.hosts().includes('mac-1'));
    await until('it tells of itself', () => observed(1));

    authority.issuing = after;
    authority.trusted = `${after.caCert}${before.caCert}`;
    const renewed = async () => (await file.read())?.enrolled?.credentials.authorities === authority.trusted;
    await until('the certificate is renewed', renewed);
    await listening[Symbol.asyncDispose]();
    await until('it is gone', () => !hub.hosts().includes('mac-1'));
    const tls = { ...(await after.serverLeaf()), ca: after.caCert };
    const { app, upgrade } = test.server;
    const { port } = new URL(url);
    held.use(await listen({ host: '127.0.0.1', port: Number(port), tls, app, upgrade, clock: systemClock }));
    await until('it is connected again', () => hub.hosts().includes('mac-1'));
    await hosts.patch('mac-1', { spec: { cordoned: true } });
    await until('it writes', () => observed(2));
  });
});

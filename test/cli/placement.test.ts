import assert from 'node:assert/strict';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { aHost, anImage, type HostWish } from '../harness/builders.ts';
import { CliServer } from '../harness/cli-server.ts';
import type { CliFolder } from '../harness/run-cli.ts';
import type { TestServer } from '../harness/server.ts';

const coppice = { apiVersion: 'coppice.dev/v1' } as const;

describe('coppice explain-placement and rebalance', () => {
  let server: TestServer;
  let folder: CliFolder;
  let writeOwner: (token: string) => Promise<string>;
  const held = new AsyncDisposableStack();

  before(async () => {
    const started = held.use(await CliServer.start({ namespace: 'beta' }));
    ({ server, folder } = started);
    writeOwner = (token) => folder.write('owner', started.kubeconfig(token));
    const { client } = server;
    for (const name of ['acme', 'beta']) {
      await client.resource<Tenant>(Tenant).create({ ...coppice, kind: 'Tenant', metadata: { name }, spec: {} });
    }
    for (const guestOS of ['macos', 'linux'] as const) {
      const { spec, status } = anImage({ name: guestOS, guestOS });
      const images = client.resource<Image>(Image);
      await images.create({ ...coppice, kind: 'Image', metadata: { name: guestOS }, spec });
      await images.patch(guestOS, { status: status ?? {} }, { subresource: 'status' });
    }
    await aMac({ name: 'mac-1', lessee: 'acme' });
    await aMac({ name: 'mac-2' });
    await aVM('intruder', { image: 'macos' });
    await aVM('web', { image: 'linux', size: { vcpus: 1, memory: '8Gi' } }, 'mac-2');
  });
  after(() => held.disposeAsync());

  async function aMac(wish: HostWish & { name: string }): Promise<void> {
    const images = ['macos', 'linux'].map((name) => ({ name, digest: 'sha256:aa', size: '10Mi' }));
    const { spec, status } = aHost({ ...wish, images });
    const hosts = server.client.resource<Host>(Host);
    await hosts.create({ ...coppice, kind: 'Host', metadata: { name: wish.name }, spec });
    await hosts.patch(wish.name, { status: { ...status } }, { subresource: 'status' });
  }

  async function aVM(name: string, spec: object, host?: string): Promise<void> {
    const vms = server.client.resource<VM>(VM, 'beta');
    await vms.create({ ...coppice, kind: 'VM', metadata: { name }, spec: spec as VM['spec'] });
    if (host !== undefined) await vms.patch(name, { spec: { hostName: host, epoch: 1 } });
  }

  it('tells of each host what stands in the way of a VM that waits, and what may help', async () => {
    const { code, stdout, stderr } = await folder.run(['explain-placement', 'vm/intruder', '-n', 'beta']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^VM beta\/intruder waits for a host\.\n\nHOST +FITS +WHY/);
    assert.match(stdout, /\nmac-1 +no +LeasedToOthers +host mac-1 is leased to another tenant\n/);
    assert.match(stdout, /\nmac-2 +no +LeaseRequired +macOS guests need a Lease .*beta does not lease mac-2\n/);
    assert.match(stdout, /\nNow: +LeaseRequired: 0 of 2 hosts fit: 1 LeaseRequired, 1 LeasedToOthers\n/);
    assert.match(stdout, /\nNext: +lease a Mac: coppice lease create -n beta --wait\n$/);
    assert.doesNotMatch(stdout, /Stored/);
  });

  it('keeps apart what was said then and what holds now, also for programs', async () => {
    const conditions = [
      {
        type: 'Scheduled',
        status: 'False',
        reason: 'NoHosts',
        message: 'then',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ] as const;
    const vms = server.client.resource<VM>(VM, 'beta');
    await vms.patch('intruder', { status: { conditions: [...conditions] } }, { subresource: 'status' });
    const { stdout } = await folder.run(['explain-placement', 'intruder', '-o', 'json']);
    const { state, stored, now } = JSON.parse(stdout);
    assert.deepEqual([state, stored.reason, now.decision.reason], ['Waiting', 'NoHosts', 'LeaseRequired']);
    assert.deepEqual(now.hosts[1].refusal.filter, 'LeaseRequired');
    const told = await folder.run(['explain-placement', 'intruder']);
    assert.match(told.stdout, /\nStored: NoHosts: then, since 2026-01-01T00:00:00Z\n/);
  });

  it('tells an owner, who may not see hosts, what the VM tells, and plans nothing for one', async () => {
    const minted = await folder.run(['tenant', 'token', 'beta']);
    const kubeconfig = await writeOwner(minted.stdout.trim());
    const { code, stdout, stderr } = await folder.run(['explain-placement', 'intruder', '--kubeconfig', kubeconfig]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^VM beta\/intruder waits for a host\.\n\nNow: +hosts are not yours to see/);
    assert.match(stdout, /\nStored: NoHosts: then, since 2026-01-01T00:00:00Z\nNext: +add a host/);
    const plan = await folder.run(['rebalance', '--dry-run', '--kubeconfig', kubeconfig]);
    assert.deepEqual([plan.code, plan.stdout], [1, '']);
    assert.match(plan.stderr, /^error: rebalance looks at the whole fleet, which is for operators\n/);
  });

  it('tells of a VM that is bound where it is, and judges its host without its own share', async () => {
    const { stdout } = await folder.run(['explain-placement', 'web']);
    assert.match(stdout, /^VM beta\/web is bound to mac-2\./);
    assert.match(stdout, /\nmac-2 +yes +it is here\n/);
    assert.match(stdout, /\nNow: +it stays/);
  });

  it('tells once what turns all hosts down alike, and what would bring a stranded volume back', async () => {
    const volumes = server.client.resource<Volume>(Volume, 'beta');
    await volumes.create({ ...coppice, kind: 'Volume', metadata: { name: 'data' }, spec: { size: '1Gi' } });
    await aVM('db-1', { image: 'linux', volumes: [{ name: 'none' }] });
    const none = await folder.run(['explain-placement', 'db-1']);
    assert.match(none.stdout, /\nall 2 +no +VolumeNotFound +\S/);
    assert.doesNotMatch(none.stdout, /mac-/);
    const room = { driver: { volumes: true }, allocatable: { disk: '256Gi' } };
    await server.client.resource<Host>(Host).patch('mac-2', { status: room }, { subresource: 'status' });
    await volumes.patch('data', { spec: { hostName: 'mac-2' } });
    await volumes.patch('data', { status: { phase: 'Stranded' } }, { subresource: 'status' });
    await aVM('db-2', { image: 'linux', volumes: [{ name: 'data' }] });
    const stranded = await folder.run(['explain-placement', 'db-2']);
    assert.match(stranded.stdout, /\nNext: .*coppice lease create --host mac-2 -n beta\n$/);
    for (const name of ['db-1', 'db-2']) await server.client.resource<VM>(VM, 'beta').delete(name);
  });

  it('tells of a host that only its cordon keeps from being fit', async () => {
    const hosts = server.client.resource<Host>(Host);
    await hosts.patch('mac-2', { spec: { cordoned: true } });
    await aVM('api', { image: 'linux', size: { vcpus: 1, memory: '1Gi' } });
    const { stdout } = await folder.run(['explain-placement', 'api']);
    assert.match(
      stdout,
      /\nNow: +LeasedToOthers.*\nNext: +it would fit on mac-2, which is cordoned: coppice uncordon mac-2\n$/,
    );
    await server.client.resource<VM>(VM, 'beta').delete('api');
    await hosts.patch('mac-2', { spec: { cordoned: null } });
  });

  it('tells of a VM that a drain moves what it waits for, and where to look next', async () => {
    const hosts = server.client.resource<Host>(Host);
    const drain = { mode: 'Reschedule', startedAt: '2026-01-01T00:00:00Z', evicting: 0, rescheduling: 1, kept: 0 };
    const waiting = [{ vm: 'beta/web', reason: '0 of 2 hosts fit' }];
    await hosts.patch('mac-2', { spec: { drain: { mode: 'Reschedule' } } });
    await hosts.patch('mac-2', { status: { drain: { ...drain, waiting } } }, { subresource: 'status' });
    const { stdout } = await folder.run(['explain-placement', 'web']);
    assert.match(stdout, /\nNow: +host mac-2 is drained; it waits: 0 of 2 hosts fit\n/);
    assert.match(stdout, /\nNext: +see how far it is: coppice drain-status mac-2\n$/);
    await hosts.patch('mac-2', { spec: { drain: null, cordoned: null } });
    await hosts.patch('mac-2', { status: { drain: null } }, { subresource: 'status' });
  });

  it('ends with 1 for a VM that is not there, and without one', async () => {
    const gone = await folder.run(['explain-placement', 'nobody']);
    assert.deepEqual([gone.code, gone.stdout], [1, '']);
    assert.match((await folder.run(['explain-placement'])).stderr, /^error: name the VM\n/);
  });

  it('plans nothing where nothing would help or nothing has to, and never without --dry-run', async () => {
    const bare = await folder.run(['rebalance']);
    assert.deepEqual([bare.code, bare.stdout], [1, '']);
    assert.match(bare.stderr, /add --dry-run; there is no mode that moves/);
    assert.match(
      (await folder.run(['rebalance', '--dry-run'])).stdout,
      /Nothing is proposed: no host is above 85%\.\n$/,
    );
    const tight = await folder.run(['rebalance', '--dry-run', '--high-water', '0.3']);
    assert.equal(tight.code, 0);
    assert.match(tight.stdout, /\nmac-2 stays above 30%: .*\n\nNothing is proposed: no move would help\.\n$/);
    const wrong = await folder.run(['rebalance', '--dry-run', '--high-water', '85']);
    assert.match(wrong.stderr, /^error: --high-water 85 is not a part/);
  });

  it('plans what helps, with how full each host is and would be', async () => {
    await aMac({ name: 'mac-3' });
    await aVM('db', { image: 'linux', size: { vcpus: 1, memory: '7Gi' }, reschedulable: true }, 'mac-2');
    const { code, stdout } = await folder.run(['rebalance', '--dry-run']);
    assert.equal(code, 0);
    assert.match(stdout, /\nmac-2 +16Gi +93\.8% +50%\nmac-3 +16Gi +0% +43\.8%\n\nVM +MEMORY +FROM +TO +HOW\n/);
    assert.match(
      stdout,
      /\nbeta\/db +7Gi +mac-2 +mac-3 +Reschedule\n\nTo follow it, 1 VM would have to be deleted and made again/,
    );
    const plan = JSON.parse((await folder.run(['rebalance', '--dry-run', '-o', 'json'])).stdout);
    assert.deepEqual([plan.highWater, plan.maxMoves, plan.moves.length], [0.85, 10, 1]);
    assert.equal((await server.client.resource<VM>(VM, 'beta').get('db')).spec.hostName, 'mac-2');
  });
});

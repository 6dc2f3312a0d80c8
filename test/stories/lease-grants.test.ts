import assert from 'node:assert/strict';
import { controllerIdentity, ownerIdentity, serviceAccountIdentity } from '../../apiserver/auth/identity.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { send } from '../harness/raw.ts';

const why = (world: FleetWorld, key = 'acme/ci') =>
  findCondition(world.lease(key) ?? assert.fail(), 'Granted')?.message ?? '';
const waiting = (world: FleetWorld, key = 'acme/ci') =>
  (world.lease(key)?.status?.waiting ?? []).map(({ reason, hosts }) => `${hosts} ${reason}`);

describe('a lease that waits', () => {
  it('says how many hosts were turned down for what, and is granted when one is free', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.tenant('beta');
    await world.asks();
    await world.settles();
    assert.deepEqual([world.tells(), why(world)], ['Pending (NoHosts)', '0 hosts: none has joined yet']);
    assert.equal((await world.deletes('acme/ci')).status, 200);

    for (const name of ['mac-1', 'mac-2', 'mac-3', 'mac-4']) await world.mac(name);
    await world.asks({ hostName: 'mac-1' }, 'beta/one');
    await world.asks({ hostName: 'mac-2' }, 'beta/two');
    await world.request('PATCH', 'hosts/mac-3', { spec: { cordoned: true } });
    await world.runs('acme/web', { image: 'linux' });
    assert.equal(world.vm('acme/web')?.status?.host, 'mac-4');
    await world.asks();
    await world.settles();
    assert.equal(world.tells(), 'Pending (Busy)');
    assert.equal(why(world), '4 hosts: 1 with VMs, 1 cordoned, 2 leased to others');
    assert.deepEqual(waiting(world), ['1 Busy', '1 Cordoned', '2 LeasedToOthers']);

    const quiet = world.lease()?.metadata.resourceVersion;
    await world.passes('2h');
    assert.equal(world.lease()?.metadata.resourceVersion, quiet, 'nothing is written while nothing changes');

    await world.request('PATCH', 'hosts/mac-3', { spec: { cordoned: false } });
    await world.settles();
    assert.equal(world.tells(), 'Active on mac-3 (Active)');
    assert.equal(world.lease()?.status?.waiting, undefined);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('for a host by name says why that one will not do', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.asks({ hostName: 'mac-9' });
    await world.settles();
    assert.deepEqual([world.tells(), why(world)], ['Pending (HostNotFound)', 'there is no host mac-9']);
    await world.mac('mac-9', { vcpus: 4 });
    await world.settles();
    assert.equal(world.tells(), 'Active on mac-9 (Active)');
    await world.asks({ hostName: 'mac-9' }, 'acme/second');
    await world.settles();
    assert.equal(world.tells('acme/second'), 'Pending (AlreadyLeased)');
    assert.equal(why(world, 'acme/second'), 'host mac-9 is leased by lease ci already');
  });

  it('tells the largest there is of what is not enough', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini', { memoryGiB: 18 });
    await world.mac('pro', { vcpus: 12, memoryGiB: 34 });
    await world.asks({ minMemory: '64Gi' });
    await world.settles();
    assert.equal(why(world), '2 hosts: 2 with too little memory (the largest has 32Gi, needs 64Gi)');
  });

  it('for its tenant is granted when the tenant comes', async () => {
    await using world = await FleetWorld.start();
    await world.mac('mini');
    await world.namespace('acme');
    await world.asks();
    await world.settles();
    assert.equal(world.tells(), 'Pending (TenantNotFound)');
    await world.tenant('acme');
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
  });

  it('for terms is granted when they are accepted, and keeps by whom and when', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.request('PATCH', 'policies/default', { spec: { requiredTerms: '2026-09' } });
    await world.asks({ acceptedTerms: { version: '2025-01' } });
    await world.settles();
    assert.equal(world.tells(), 'Pending (TermsNotAccepted)');
    assert.match(why(world), /terms 2026-09 must be accepted.*it accepts 2025-01/);
    await world.passes('1h');
    const at = new Date(world.clock.now()).toISOString().replace(/\.\d+Z/, 'Z');
    await world.patches('acme/ci', { spec: { acceptedTerms: { version: '2026-09' } } });
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
    assert.deepEqual(world.lease()?.spec.acceptedTerms, { version: '2026-09', by: 'operator', at });
    const terms = (world.lease()?.status?.overrides ?? []).filter(({ what }) => what === 'Terms');
    assert.deepEqual(
      terms.map(({ detail }) => detail),
      ['2025-01', '2026-09'],
    );
  });

  it('waits while its tenant is disabled or has as many hosts as it may', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme', { quota: { maxLeasedHosts: 1 } });
    await world.mac('mini');
    await world.mac('mini-2');
    await world.request('PATCH', 'tenants/acme', { spec: { disabled: true } });
    await world.asks();
    await world.settles();
    assert.equal(world.tells(), 'Pending (TenantDisabled)');
    await world.request('PATCH', 'tenants/acme', { spec: { disabled: null } });
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
    assert.equal((await world.asks({}, 'acme/more')).body.details?.causes?.[0]?.reason, 'QuotaExceeded');
  });

  it('is ended when it is released before it had a host, and holds nothing', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.asks();
    await world.settles();
    await world.patches('acme/ci', { spec: { release: {} } });
    await world.settles();
    await world.passes('2s');
    assert.equal(world.tells(), 'Ended (Ended)');
    await world.mac('mini');
    await world.settles();
    assert.deepEqual([world.tells(), world.hostTells('mini')], ['Ended (Ended)', 'free']);
  });
});

describe('what only operators may ask of a lease', () => {
  const member = serviceAccountIdentity('acme', 'robot');

  it('is refused to others, and written down for good when an operator does', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.request('PATCH', 'hosts/mini', { spec: { cordoned: true } });
    await world.asks();
    const duty = controllerIdentity('lease');
    for (const spec of [{ allowBusy: true }, { anyHost: true }, { release: { force: true } }]) {
      const refused = await world.patches('acme/ci', { spec }, duty);
      assert.deepEqual(
        [refused.status, refused.body.details?.causes?.[0]?.reason],
        [403, 'OperatorsOnly'],
        refused.text,
      );
    }
    assert.notEqual((await world.asks({ allowBusy: true }, 'acme/other', member)).status, 201);
    await world.patches('acme/ci', { spec: { allowBusy: true, anyHost: true } });
    await world.patches('acme/ci', { spec: { allowBusy: false } });
    const overrides = () => (world.lease()?.status?.overrides ?? []).map(({ what }) => what);
    assert.deepEqual(overrides(), ['ForTenant', 'AllowBusy', 'AnyHost']);
    const lost = await world.request('PATCH', 'namespaces/acme/leases/ci/status', { status: { overrides: [] } });
    assert.deepEqual([lost.status, lost.body.details?.causes?.[0]?.reason], [403, 'OverrideKept']);
    assert.equal((await world.patches('acme/ci', { spec: { minVCPUs: 2 } }, duty)).status, 200);
  });

  it('is not needed by an owner, who leases and releases within the rules', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    const owner = ownerIdentity('acme');
    for (const spec of [{ allowBusy: true }, { anyHost: true }, { release: { force: true } }]) {
      const { status, body } = await world.asks(spec, 'acme/ci', owner);
      assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'OperatorsOnly']);
    }
    const forged = await world.asks({ acceptedTerms: { version: '1', by: 'the boss' } }, 'acme/ci', owner);
    assert.equal(forged.body.details?.causes?.[0]?.field, 'spec.acceptedTerms.by');
    const made = await world.asks({ acceptedTerms: { version: '1' }, releasePolicy: 'WhenAllowed' }, 'acme/ci', owner);
    assert.equal(made.status, 201, made.text);
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
    assert.equal(world.lease()?.spec.acceptedTerms?.by, owner.user);
    assert.deepEqual(
      (world.lease()?.status?.overrides ?? []).map(({ what, by }) => `${what} by ${by}`),
      [`Terms by ${owner.user}`],
    );
    assert.equal((await world.patches('acme/ci', { spec: { release: {} } }, owner)).status, 200);
    assert.equal(world.lease()?.status?.endsAt, world.lease()?.status?.earliestEnd);
    assert.equal((await world.patches('acme/ci', { spec: { release: null } }, owner)).status, 200);
    assert.equal((await world.deletes('acme/ci', owner)).status, 200);
    assert.equal(world.hostTells('mini'), 'held for acme');
  });

  it('has a Mac with VMs of the lessee, but never with those of others', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.tenant('beta');
    await world.mac('mini');
    await world.runs('acme/web', { image: 'linux' });
    await world.runs('beta/web', { image: 'linux' });
    await world.asks({ allowBusy: true });
    await world.settles();
    assert.equal(world.tells(), 'Pending (GuestsOfOthers)');
    await world.request('DELETE', 'namespaces/beta/vms/web');
    await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
    assert.equal(world.vm('acme/web')?.status?.phase, 'Running');
  });
});

describe('a lease from a file', () => {
  it('that is applied again changes nothing, whatever the server filled in', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    const app = world.fleet.test.server.app;
    const url = '/apis/coppice.dev/v1/namespaces/acme/leases/ci?fieldManager=gitops&force=true';
    const file = {
      apiVersion: 'coppice.dev/v1',
      kind: 'Lease',
      metadata: { name: 'ci', namespace: 'acme' },
      spec: { minVCPUs: 2, duration: '30h', acceptedTerms: { version: '1' }, release: { at: '2026-03-05T00:00:00Z' } },
    };
    const apply = () =>
      send(app, 'PATCH', url, { body: file, headers: { 'content-type': 'application/apply-patch+yaml' } });
    assert.equal((await apply()).status, 201);
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
    const version = world.lease()?.metadata.resourceVersion;
    await world.passes('1h');
    assert.equal((await apply()).status, 200);
    assert.equal(world.lease()?.metadata.resourceVersion, version);
    assert.deepEqual(Object.keys(world.lease()?.spec.release ?? {}).sort(), ['at', 'by', 'requestedAt']);
  });
});

describe('what a lease was granted for', () => {
  it('stays so, in the words that GitOps tools know', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks({ minVCPUs: 2 });
    await world.settles();
    for (const spec of [
      { minVCPUs: 4 },
      { hostName: 'other' },
      { selector: { matchLabels: { a: 'b' } } },
      { nested: true },
    ]) {
      const { status, body } = await world.patches('acme/ci', { spec });
      assert.deepEqual([status, body.details?.causes?.[0]?.field], [422, `spec.${Object.keys(spec)[0]}`]);
      assert.match(body.message ?? '', /field is immutable/);
    }
    const moved = { status: { grantedAt: '2020-01-01T00:00:00Z' } };
    assert.equal((await world.request('PATCH', 'namespaces/acme/leases/ci/status', moved)).status, 422);
    const back = await world.request('PATCH', 'namespaces/acme/leases/ci/status', { status: { phase: 'Pending' } });
    assert.equal(back.body.details?.causes?.[0]?.reason, 'WrongPhase');
    const early = await world.request('PATCH', 'namespaces/acme/leases/ci/status', { status: { phase: 'Ending' } });
    assert.equal(early.body.details?.causes?.[0]?.reason, 'NotOver');
  });

  it('has its price from the largest class of the list that the Mac meets, as it was then', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('studio', { vcpus: 24, memoryGiB: 64 });
    const macClasses = [
      { name: 'mini', minVCPUs: 8, minMemory: '16Gi', perHour: '0.85' },
      { name: 'studio', minVCPUs: 20, minMemory: '64Gi', perHour: '1.95' },
      { name: 'ultra', minVCPUs: 32, minMemory: '128Gi', perHour: '3.5' },
    ];
    await world.request('PATCH', 'pricelists/default', { spec: { currency: 'EUR', macPerHour: '0.60', macClasses } });
    await world.asks();
    await world.settles();
    await world.request('DELETE', 'pricelists/default');
    await world.patches('acme/ci', { spec: { duration: '30h' } });
    const { pricePerHour, currency, hostInfo } = world.lease()?.status ?? {};
    assert.deepEqual([pricePerHour, currency], ['1.95', 'EUR']);
    const machine = { os: 'darwin', arch: 'arm64', chip: 'simulated', nested: true };
    assert.deepEqual(hostInfo, { vcpus: 24, memory: '62Gi', ...machine, macosSlots: 2 });
  });
});

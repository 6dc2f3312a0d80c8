import assert from 'node:assert/strict';
import { ownerIdentity } from '../../apiserver/auth/identity.ts';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import { Event } from '../../resources/kinds/event.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';

const DUTIES = ['tenant', 'image', 'scrub', 'lease', 'volume', 'placement', 'vm-lifecycle', 'garbage'] as const;
const GIB = 1024 ** 3;

/** A fleet of one Mac, `mini`, and two tenants; acme leases the Mac. */
async function aLeasedMac(policy: object = {}): Promise<FleetWorld> {
  const world = await aFleet(policy);
  await world.mac('mini');
  await world.asks({ hostName: 'mini' });
  await world.until('acme has it', () => world.hostTells('mini') === 'leased to acme');
  return world;
}

async function aFleet(policy: object = {}): Promise<FleetWorld> {
  const world = await FleetWorld.start({ duties: false });
  world.startControllers(...DUTIES);
  const made = await world.request('PATCH', 'policies/default', { spec: policy });
  assert.ok(made.status < 300, made.text);
  await world.tenant('acme');
  await world.tenant('beta');
  return world;
}

const make = (world: FleetWorld, key: string, size = '50Gi') => {
  const [namespace = '', name = ''] = key.split('/');
  const body = { apiVersion: 'coppice.dev/v1', kind: 'Volume', metadata: { name }, spec: { size } };
  return world.request('POST', `namespaces/${namespace}/volumes`, body);
};

const ask = (world: FleetWorld, key: string, spec: Partial<VM['spec']>) => {
  const [namespace = '', name = ''] = key.split('/');
  const whole = { image: 'linux', size: { vcpus: 1, memory: '1Gi' }, ...spec };
  const body = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name }, spec: whole };
  return world.request('POST', `namespaces/${namespace}/vms`, body);
};

/** A volume in a line: phase, host, who has it, and why it is not ready. */
function tells(world: FleetWorld, key = 'acme/pg-data'): string {
  const volume = world.volume(key);
  if (volume === undefined) return 'gone';
  const { phase = 'new', attachedTo } = volume.status ?? {};
  const ready = findCondition(volume, 'Ready');
  const on = volume.spec.hostName === undefined ? '' : ` on ${volume.spec.hostName}`;
  const to = attachedTo === undefined ? '' : ` to ${attachedTo}`;
  return `${phase}${on}${to}${ready?.status === 'True' ? '' : ` (${ready?.reason})`}`;
}

const becomes = (world: FleetWorld, said: string, key?: string) =>
  world.until(`${key ?? 'the volume'} is ${said}`, () => tells(world, key) === said);

/** A volume of acme on `mini`, whole. */
async function aVolume(world: FleetWorld, name = 'pg-data', size = '50Gi'): Promise<Volume> {
  const made = await make(world, `acme/${name}`, size);
  assert.equal(made.status, 201, made.text);
  await becomes(world, 'Available on mini', `acme/${name}`);
  return world.volume(`acme/${name}`) as Volume;
}

/** A VM of acme with volumes, which runs. */
async function uses(world: FleetWorld, name: string, ...volumes: readonly string[]): Promise<VM> {
  return world.runs(`acme/${name}`, { image: 'linux', volumes: volumes.map((each) => ({ name: each })) });
}

async function endsByForce(world: FleetWorld, key = 'acme/ci'): Promise<void> {
  await world.patches(key, { spec: { release: { force: true } } });
  await world.until('the lease has ended', () => world.tells(key) === 'Ended on mini (Ended)');
}

const scrubOf = (world: FleetWorld) => world.host('mini').status?.scrub;

const IN_THE_WAY = 'volume acme/pg-data lies on it; --force removes what remains, and destroys the data of acme';

/** As `coppice scrub` asks; answers what came of it. */
async function scrubs(world: FleetWorld, force = false): Promise<string> {
  const last = Date.parse(scrubOf(world)?.requestedAt ?? '1970-01-01T00:00:00Z') + 1000;
  const requestedAt = rfc3339(Math.max(world.clock.now(), last));
  await world.request('PATCH', 'hosts/mini', { spec: { scrub: { requestedAt, force } } });
  await world.until('the scrub is answered', () => {
    const scrub = scrubOf(world);
    return scrub?.requestedAt === requestedAt && scrub.outcome !== 'Waiting' && scrub.outcome !== 'Running';
  });
  const { outcome = 'none', message } = scrubOf(world) ?? {};
  return message === undefined ? outcome : `${outcome}: ${message}`;
}

const cause = (answer: Awaited<ReturnType<typeof make>>) =>
  `${answer.status} ${answer.body.details?.causes?.[0]?.reason}`;
const said = (answer: Awaited<ReturnType<typeof make>>) =>
  (answer.body.message ?? '').replace(/^.*? is (forbidden|invalid): /, '');

describe('the story of a volume', function () {
  this.timeout(60_000);

  it('keeps its data from VM to VM: one has it, then the next, and nobody else meanwhile', async () => {
    await using world = await aLeasedMac();
    const { status } = await aVolume(world);
    assert.match(status?.id ?? '', /^vol-[0-9a-f]{12}$/);
    assert.deepEqual([...world.volumesOn('mini')], [[status?.id, 50 * GIB]]);

    const db = await uses(world, 'db', 'pg-data');
    await becomes(world, 'Attached on mini to db');
    assert.deepEqual(world.guestsOn('mini').get(db.spec.guestID ?? '')?.spec.volumes, [status?.id]);
    const second = await ask(world, 'acme/db-2', { volumes: [{ name: 'pg-data' }] });
    assert.equal(cause(second), '403 VolumeInUse');
    assert.equal(said(second), 'volume pg-data is in use: it is attached to VM db, and one VM at a time has it');
    const removed = await world.request('DELETE', 'namespaces/acme/volumes/pg-data');
    assert.equal(
      `${cause(removed)}: ${said(removed)}`,
      '403 VolumeInUse: it is attached to VM db; delete that VM first',
    );
    const grown = await world.request('PATCH', 'namespaces/acme/volumes/pg-data', { spec: { size: '60Gi' } });
    assert.equal(cause(grown), '403 VolumeInUse');

    // The object goes at once; what counts is the guest.
    await world.stopNodelet('mini');
    await world.request('DELETE', 'namespaces/acme/vms/db');
    await world.settles();
    assert.equal(tells(world), 'Attached on mini to db');
    assert.equal(cause(await ask(world, 'acme/db-2', { volumes: [{ name: 'pg-data' }] })), '403 VolumeInUse');
    world.startNodelet('mini');
    await becomes(world, 'Available on mini');
    await uses(world, 'db-2', 'pg-data');
    await becomes(world, 'Attached on mini to db-2');
    assert.equal(world.volume('acme/pg-data')?.status?.id, status?.id);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('grows while nobody has it, and never shrinks', async () => {
    await using world = await aLeasedMac();
    const { status } = await aVolume(world);
    const size = (to: string) => world.request('PATCH', 'namespaces/acme/volumes/pg-data', { spec: { size: to } });
    const less = await size('20Gi');
    assert.equal(
      `${cause(less)}: ${said(less)}`,
      '403 VolumeShrinks: it has 50Gi and 20Gi was asked for: volumes only grow',
    );
    const most = await size('300Gi');
    assert.equal(
      `${cause(most)}: ${said(most)}`,
      '403 InsufficientDisk: needs 300Gi of disk; host mini has 256Gi free',
    );
    assert.equal((await size('51200Mi')).status, 200, 'the same in other words');
    assert.equal((await size('100Gi')).status, 200);
    await world.until('the file has grown', () => world.volumesOn('mini').get(status?.id ?? '') === 100 * GIB);
    await becomes(world, 'Available on mini');
    assert.equal(world.volume('acme/pg-data')?.status?.size, '100Gi');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('is deleted with its file, and not before that is gone', async () => {
    await using world = await aLeasedMac();
    await aVolume(world);
    await world.stopNodelet('mini');
    assert.equal((await world.request('DELETE', 'namespaces/acme/volumes/pg-data')).status, 200);
    await becomes(world, 'Available on mini (Deleting)');
    assert.equal(world.volumesOn('mini').size, 1);
    world.startNodelet('mini');
    await becomes(world, 'gone');
    assert.equal(world.volumesOn('mini').size, 0);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('is not made anew when its file is gone: an empty disk would pass for the data', async () => {
    await using world = await aLeasedMac();
    const { status } = await aVolume(world);
    world.volumesOn('mini').clear();
    await becomes(world, 'Pending on mini (FileLost)');
    await ask(world, 'acme/db', { volumes: [{ name: 'pg-data' }] });
    await world.until('the VM says why it waits', () => {
      const vm = world.vm('acme/db');
      return vm !== undefined && findCondition(vm, 'Scheduled')?.reason === 'VolumeNotReady';
    });
    assert.equal(world.volumesOn('mini').size, 0);
    world.volumesOn('mini').set(status?.id ?? '', 50 * GIB);
    await world.until('it is there again', () => world.vm('acme/db')?.status?.phase === 'Running');
  });

  it('has a VM wait for it that was there first, and pins it to its host', async () => {
    await using world = await aLeasedMac();
    await ask(world, 'acme/db', { volumes: [{ name: 'pg-data' }] });
    const why = () => {
      const vm = world.vm('acme/db');
      return vm && findCondition(vm, 'Scheduled')?.reason;
    };
    await world.until('it waits', () => why() === 'VolumeNotFound');
    await make(world, 'acme/pg-data');
    await world.until('it runs', () => world.vm('acme/db')?.status?.phase === 'Running');
    assert.equal(world.vm('acme/db')?.status?.host, 'mini');

    await world.mac('maxi', { memoryGiB: 64 });
    await world.request('DELETE', 'namespaces/acme/vms/db');
    await becomes(world, 'Available on mini');
    await world.request('PATCH', 'hosts/mini', { spec: { cordoned: true } });
    await ask(world, 'acme/db-2', { volumes: [{ name: 'pg-data' }] });
    const message = () => {
      const vm = world.vm('acme/db-2');
      return vm && findCondition(vm, 'Scheduled')?.message;
    };
    await world.until('it waits for its host', () => message()?.includes('fit') === true);
    assert.equal(message(), '0 of 2 hosts fit: 1 Cordoned, 1 VolumeElsewhere');
    await world.request('PATCH', 'hosts/mini', { spec: { cordoned: false } });
    await world.until('it runs there', () => world.vm('acme/db-2')?.status?.phase === 'Running');
    assert.equal(world.vm('acme/db-2')?.status?.host, 'mini');
  });

  it('lies where its tenant leases and most disk is free, else where nobody leases; else it says why not', async () => {
    await using world = await aFleet();
    await make(world, 'acme/early');
    await becomes(world, 'Pending (NoHosts)', 'acme/early');
    await world.mac('mini');
    await becomes(world, 'Available on mini', 'acme/early');
    await world.mac('maxi');
    await world.asks({ hostName: 'maxi' });
    await world.until('acme leases it', () => world.hostTells('maxi') === 'leased to acme');
    await make(world, 'acme/late');
    await becomes(world, 'Available on maxi', 'acme/late');
    await make(world, 'beta/own', '200Gi');
    await becomes(world, 'Available on mini', 'beta/own');
    await make(world, 'beta/more', '50Gi');
    await becomes(world, 'Pending (InsufficientDisk)', 'beta/more');
    const { message } = findCondition(world.volume('beta/more') as Volume, 'Ready') ?? {};
    assert.match(
      message ?? '',
      /^none of 2 hosts fits: 1 with too little disk \(most free .*, needs 50Gi\), 1 leased to others$/,
    );
    await world.request('DELETE', 'namespaces/acme/volumes/early');
    await becomes(world, 'Available on mini', 'beta/more');
  });

  it('comes to lie on the host where the VM that has it has another', async () => {
    await using world = await aFleet();
    await world.mac('mini');
    await make(world, 'acme/pg-data', '150Gi');
    await becomes(world, 'Available on mini');
    await ask(world, 'acme/db', { volumes: [{ name: 'pg-data' }, { name: 'wal' }] });
    await world.mac('maxi');
    await make(world, 'acme/wal', '10Gi');
    await world.until('the VM has both', () => world.vm('acme/db')?.status?.phase === 'Running');
    assert.equal(tells(world, 'acme/wal'), 'Attached on mini to db');
  });
});

describe('the story of a stranded volume', function () {
  this.timeout(60_000);

  async function stranded(policy: object = {}): Promise<FleetWorld> {
    const world = await aLeasedMac(policy);
    await aVolume(world);
    await uses(world, 'db', 'pg-data');
    await becomes(world, 'Attached on mini to db');
    await endsByForce(world);
    await becomes(world, 'Stranded on mini (Stranded)');
    return world;
  }

  it('has a scrub refused by name, and is lost to one by force, which says who asked', async () => {
    await using world = await stranded();
    assert.equal(await scrubs(world), `Refused: ${IN_THE_WAY}`);
    assert.equal(world.volumesOn('mini').size, 1);
    await ask(world, 'acme/db-2', { volumes: [{ name: 'pg-data' }] });
    await world.until('the VM says why it waits', () => {
      const vm = world.vm('acme/db-2');
      return vm !== undefined && findCondition(vm, 'Scheduled')?.reason === 'VolumeNotReady';
    });
    await world.request('DELETE', 'namespaces/acme/vms/db-2');
    await world.until('that VM is gone', () => world.vm('acme/db-2') === undefined);

    assert.equal(await scrubs(world, true), 'Succeeded');
    await becomes(world, 'Lost on mini (Lost)');
    const { lostAt, lostBy, size } = world.volume('acme/pg-data')?.status ?? {};
    assert.equal(lostBy, 'the scrub of host mini, forced by operator');
    assert.ok(Date.parse(lostAt ?? '') <= world.clock.now());
    assert.equal(world.volumesOn('mini').size, 0);
    assert.equal(scrubOf(world)?.clearing?.volumesRemoved, 1);
    assert.equal(world.hostTells('mini'), 'free');
    await world.until(
      'nothing is told to be left of it',
      () => world.volume('acme/pg-data')?.status?.size === undefined,
    );
    assert.equal(size === undefined || size === '50Gi', true);

    await world.request('PATCH', 'namespaces/acme/volumes/pg-data', { spec: { size: '60Gi' } }).then((answer) => {
      assert.equal(cause(answer), '403 VolumeLost');
    });
    await world.request('PATCH', 'namespaces/acme/volumes/pg-data', { spec: { size: '40Gi' } }).then((answer) => {
      assert.match(
        said(answer),
        /^its data is lost since .*, with the scrub of host mini, .*; delete it, and make it anew$/,
      );
    });
    assert.equal((await world.request('DELETE', 'namespaces/acme/volumes/pg-data')).status, 200);
    await becomes(world, 'gone');
    const { items } = await world.fleet.resource<Event>(Event, 'acme').list();
    const told = items.filter(({ involvedObject }) => involvedObject.kind === 'Volume').map(({ reason }) => reason);
    for (const reason of ['Bound', 'Attached', 'Detached', 'Stranded', 'Lost'])
      assert.ok(told.includes(reason), reason);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('is had again by whoever leases that host again, without a scrub; nobody else can', async () => {
    await using world = await stranded();
    const { id } = world.volume('acme/pg-data')?.status ?? {};
    await world.asks({ hostName: 'mini' }, 'beta/ci');
    await world.settles();
    assert.equal(world.tells('beta/ci'), 'Pending (ScrubPending)');
    await world.asks({}, 'acme/again');
    await world.until('acme has it again', () => world.tells('acme/again') === 'Active on mini (Active)');
    assert.equal(isTrue(world.host('mini'), 'ScrubPending'), false);
    await becomes(world, 'Available on mini');
    assert.equal(world.volume('acme/pg-data')?.status?.strandedAt, undefined);
    await uses(world, 'db-2', 'pg-data');
    await becomes(world, 'Attached on mini to db-2');
    assert.deepEqual([...world.volumesOn('mini').keys()], [id]);
    await endsByForce(world, 'acme/again');
    await becomes(world, 'Stranded on mini (Stranded)');
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('stands in the way of a scrub for as long as the policy says, and goes with the next one after that', async () => {
    await using world = await stranded({ strandedVolumeRetention: '2h' });
    await world.passes('1h59m');
    assert.equal(await scrubs(world), `Refused: ${IN_THE_WAY}`);
    await world.passes('2m');
    assert.equal(tells(world), 'Stranded on mini (Stranded)');
    assert.equal(await scrubs(world), 'Succeeded');
    await becomes(world, 'Lost on mini (Lost)');
    assert.match(
      world.volume('acme/pg-data')?.status?.lostBy ?? '',
      /^the scrub of host mini, asked for by operator: it was stranded there since 2026-03-01T1/,
    );
    assert.equal(world.volumesOn('mini').size, 0);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('holds up a scrub that comes by itself, until its time is over', async () => {
    await using world = await stranded({ scrubMode: 'Automatic', strandedVolumeRetention: '2h' });
    await world.settles();
    assert.equal(scrubOf(world)?.outcome, 'Waiting');
    assert.match(
      scrubOf(world)?.message ?? '',
      new RegExp(`^${IN_THE_WAY}; from 2026-03-01T1[0-9:]+Z on any scrub does$`),
    );
    assert.deepEqual(scrubOf(world)?.volumesInTheWay, ['acme/pg-data']);
    assert.match(
      findCondition(world.host('mini'), 'ScrubPending')?.message ?? '',
      /^it takes nothing before it is scrubbed, and volume acme\/pg-data lies on it: a scrub is refused, and one by force destroys the data of acme; from /,
    );
    await world.passes('1h30m');
    assert.equal(scrubOf(world)?.outcome, 'Waiting');
    await world.passes('31m');
    await world.until('it is cleared', () => world.hostTells('mini') === 'free');
    assert.equal(tells(world), 'Lost on mini (Lost)');
    assert.deepEqual(world.fleet.errors, []);
  });

  it('keeps others off the host that it lies on, leased or not', async () => {
    await using world = await aFleet();
    await world.mac('mini');
    await make(world, 'acme/pg-data');
    await becomes(world, 'Available on mini');
    await world.asks({}, 'beta/ci');
    await world.settles();
    assert.equal(world.tells('beta/ci'), 'Pending (VolumesOfOthers)');
    await world.request('DELETE', 'namespaces/acme/volumes/pg-data');
    await world.until('beta has it', () => world.hostTells('mini') === 'leased to beta');
  });
});

describe('the volumes of a tenant', function () {
  this.timeout(60_000);
  const owner = ownerIdentity('acme');
  const tenantOf = (world: FleetWorld) => world.fleet.find<Tenant>(Tenant, 'acme');

  it('are no more together than its quota, however many are asked for at once', async () => {
    await using world = await aLeasedMac();
    await world.request('PATCH', 'tenants/acme', { spec: { quota: { maxVolumeSize: '100Gi' } } });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => make(world, `acme/v-${i}`, '30Gi')));
    const refused = answers.filter(({ status }) => status === 403);
    assert.deepEqual([answers.filter(({ status }) => status === 201).length, refused.length], [3, 17]);
    for (const answer of refused)
      assert.equal(said(answer), 'exceeded quota: maxVolumeSize: requested 30Gi, used 90Gi, limited 100Gi');
    await world.until('it is summed up', () => tenantOf(world)?.status?.used?.volumeSize === '90Gi');
    assert.equal(tenantOf(world)?.status?.used?.volumes, 3);
    const made = answers.findIndex(({ status }) => status === 201);
    await becomes(world, 'Available on mini', `acme/v-${made}`);
    const grown = await world.request('PATCH', `namespaces/acme/volumes/v-${made}`, { spec: { size: '41Gi' } });
    assert.equal(
      `${cause(grown)}: ${said(grown)}`,
      '403 QuotaExceeded: exceeded quota: maxVolumeSize: requested 11Gi, used 90Gi, limited 100Gi',
    );
    assert.equal(
      (await world.request('PATCH', `namespaces/acme/volumes/v-${made}`, { spec: { size: '40Gi' } })).status,
      200,
    );
  });

  it('that were there before it hold nothing, and are admitted as the quota allows when it comes', async () => {
    await using world = await aFleet();
    await world.mac('mini');
    await world.namespace('later');
    for (const name of ['a', 'b', 'c']) assert.equal((await make(world, `later/${name}`, '40Gi')).status, 201);
    await becomes(world, 'Pending (TenantNotFound)', 'later/a');
    await world.tenant('later', { quota: { maxVolumeSize: '100Gi' } });
    const names = ['later/a', 'later/b', 'later/c'];
    const bound = () => names.filter((key) => world.volume(key)?.spec.hostName !== undefined);
    await world.until('two have a host', () => bound().length === 2);
    const third = names.find((key) => !bound().includes(key));
    await becomes(world, 'Pending (QuotaExceeded)', third);
    await world.request('DELETE', `namespaces/later/volumes/${bound()[0]?.split('/')[1]}`);
    await becomes(world, 'Available on mini', third);
  });

  it('are its own: nobody else sees them, and it sees no others', async () => {
    await using world = await aLeasedMac();
    await aVolume(world);
    await make(world, 'beta/theirs');
    const other = await world.request('GET', 'namespaces/beta/volumes/theirs', undefined, owner);
    assert.equal(other.status, 404);
    const own = await world.request('GET', 'volumes', undefined, owner);
    assert.deepEqual(
      (own.body as unknown as { items: Volume[] }).items.map(({ metadata }) => metadata.name),
      ['pg-data'],
    );
    const moved = await world.request('PATCH', 'namespaces/acme/volumes/pg-data', { spec: { hostName: 'x' } }, owner);
    assert.equal(cause(moved), '403 FieldWriter');
  });

  it('stand in the way of its deletion, by name, until they are deleted', async () => {
    await using world = await aLeasedMac();
    await aVolume(world);
    await uses(world, 'db', 'pg-data');
    await endsByForce(world);
    await world.request('DELETE', 'tenants/acme');
    const waits = () => findCondition(tenantOf(world) as Tenant, 'Ready')?.message;
    await world.until('it says what it waits for', () => waits()?.includes('pg-data') === true);
    assert.equal(
      waits(),
      'waits until 1 volume is deleted: pg-data (coppice volume delete NAME -n acme; with it goes its data)',
    );
    await world.passes('10m');
    assert.equal(world.volumesOn('mini').size, 1);
    const events = world.fleet.all<Event>(Event).filter(({ involvedObject }) => involvedObject.kind === 'Tenant');
    assert.ok(events.some(({ reason, message, count }) => reason === 'Deleting' && message === waits() && count === 1));
    await world.request('DELETE', 'namespaces/acme/volumes/pg-data');
    await world.until('the tenant is gone', () => tenantOf(world) === undefined);
    assert.equal(world.volumesOn('mini').size, 0);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('do not stand in its way once their data is lost, or where there was never any', async () => {
    await using world = await aLeasedMac();
    await aVolume(world);
    await make(world, 'acme/nowhere', '2000Gi');
    await endsByForce(world);
    await becomes(world, 'Stranded on mini (Stranded)');
    assert.equal(await scrubs(world, true), 'Succeeded');
    await becomes(world, 'Lost on mini (Lost)');
    await world.request('DELETE', 'tenants/acme');
    await world.until('the tenant is gone', () => tenantOf(world) === undefined);
    assert.equal(world.volume('acme/pg-data'), undefined);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('are lost with it when an operator deletes it by force, its VMs first', async () => {
    await using world = await aLeasedMac();
    await aVolume(world);
    await aVolume(world, 'cache', '10Gi');
    await uses(world, 'db', 'pg-data');
    await becomes(world, 'Attached on mini to db');
    await world.stopNodelet('mini');
    const forceDelete = { requestedAt: rfc3339(world.clock.now()) };
    await world.request('PATCH', 'tenants/acme', { spec: { forceDelete } });
    await world.request('DELETE', 'tenants/acme');
    await becomes(world, 'Lost on mini (Deleting)', 'acme/cache');
    assert.equal(world.volume('acme/cache')?.status?.lostBy, 'the deletion of tenant acme, forced by operator');
    assert.equal(tells(world), 'Attached on mini to db');
    assert.equal(world.volumesOn('mini').size, 2);
    world.startNodelet('mini');
    await world.until('the tenant is gone', () => tenantOf(world) === undefined);
    assert.equal(world.volumesOn('mini').size, 0);
    assert.deepEqual(world.fleet.errors, []);
  });

  it('are lost with a host that is forgotten, and can be deleted then', async () => {
    await using world = await aFleet();
    await world.mac('mini');
    await make(world, 'acme/pg-data');
    await becomes(world, 'Available on mini');
    const refused = await world.request('DELETE', 'hosts/mini');
    assert.equal(
      `${cause(refused)}: ${said(refused)}`,
      '403 HostInUse: volume acme/pg-data lies on it; delete it first, or give the host up, and it with it: coppice host forget mini --force',
    );
    await world.stopNodelet('mini');
    await world.request('PATCH', 'hosts/mini', { spec: { forget: true } });
    assert.equal((await world.request('DELETE', 'hosts/mini')).status, 200);
    await becomes(world, 'Lost on mini (Lost)');
    assert.equal(world.volume('acme/pg-data')?.status?.lostBy, 'host mini was given up');
    // The machine comes back, with the file on it: it is another Host, and cleared before it takes anything.
    world.startNodelet('mini');
    await world.until('it joins', () => hostIsThere(world));
    await world.ready('mini', 'True');
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    assert.equal(tells(world), 'Lost on mini (Lost)');
    assert.equal(await scrubs(world), 'Succeeded');
    assert.equal(world.volumesOn('mini').size, 0);
    await world.request('DELETE', 'namespaces/acme/volumes/pg-data');
    await becomes(world, 'gone');
  });
});

function hostIsThere(world: FleetWorld): boolean {
  try {
    return (world.host('mini').status?.images?.length ?? 0) > 0;
  } catch {
    return false;
  }
}

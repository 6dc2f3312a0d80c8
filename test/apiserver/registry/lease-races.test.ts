import assert from 'node:assert/strict';
import type { App } from '../../../apiserver/requests/server-request.ts';
import { valueAt } from '../../../resources/meta/object.ts';
import { make, ok, patch, read, remove } from '../../harness/api-objects.ts';
import { aHost } from '../../harness/builders.ts';
import { onBothStores } from '../../harness/on-both-stores.ts';
import type { RawAnswer } from '../../harness/raw.ts';
import type { Place } from '../../harness/two-servers.ts';

const RACERS = 24;

describe('leases that race for one host', function () {
  this.timeout(120_000);

  onBothStores(suite);
});

function suite(start: () => Promise<Place>): void {
  it('of different tenants: one has it, and the host says which', async () => {
    await using place = await start();
    await aMac(place);
    const tenants = Array.from({ length: RACERS }, (_, i) => `t-${i}`);
    for (const [i, name] of tenants.entries()) await aLease(place, i, name);
    const answers = await Promise.all(tenants.map((name, i) => grant(place.app(i), name)));
    const won = tenants.filter((_, i) => answers[i]?.status === 200);
    assert.equal(won.length, 1, answers.map(({ text }) => text).join('\n'));
    for (const { status, body } of answers) {
      if (status === 200) continue;
      assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'LeasedToOthers']);
    }
    assert.equal(await lessee(place), won[0]);
  });

  it('that is held for their tenant: one takes it over, the others find it leased', async () => {
    await using place = await start();
    await aMac(place);
    await aLease(place, 0, 'red');
    assert.equal((await grant(place.app(0), 'red')).status, 200);
    await remove(place.app(0), 'namespaces/red/leases/ci');
    const names = Array.from({ length: RACERS }, (_, i) => `next-${i}`);
    for (const name of names) await ok(makeLease(place.app(1), 'red', name));
    const answers = await Promise.all(names.map((name, i) => grant(place.app(i), 'red', name)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    const causes = answers.flatMap(({ body }) => body.details?.causes?.map(({ reason }) => reason) ?? []);
    assert.deepEqual(new Set(causes), new Set(['AlreadyLeased']));
  });

  it('and VMs of others that race to be bound there: either the lease has it, or they do', async () => {
    await using place = await start();
    await aMac(place);
    await aLease(place, 0, 'red');
    const image = { guestOS: 'linux', source: { path: 'tiny' } };
    await ok(make(place.app(0), 'images', { kind: 'Image', metadata: { name: 'tiny' }, spec: image }));
    await ok(patch(place.app(0), 'images/tiny/status', { status: { digest: 'sha256:aa' } }));
    await ok(make(place.app(0), 'tenants', { kind: 'Tenant', metadata: { name: 'blue' }, spec: {} }));
    const vms = Array.from({ length: 8 }, (_, i) => `vm-${i}`);
    const size = { vcpus: 1, memory: '1Gi' };
    for (const name of vms)
      await ok(
        make(place.app(0), 'namespaces/blue/vms', { kind: 'VM', metadata: { name }, spec: { image: 'tiny', size } }),
      );
    const bind = (name: string, i: number) =>
      patch(place.app(i), `namespaces/blue/vms/${name}`, { spec: { hostName: 'mac-1', epoch: 1 } });
    const [granted, ...bound] = await Promise.all([grant(place.app(1), 'red'), ...vms.map(bind)]);
    const there = bound.filter(({ status }) => status === 200).length;
    const leased = granted?.status === 200;
    assert.equal(there > 0, !leased, `${there} VMs bound, lease ${granted?.text}`);
    assert.equal(await lessee(place), leased ? 'red' : undefined);
  });
}

async function aMac(place: Place): Promise<void> {
  const { spec, status } = aHost();
  await ok(make(place.app(0), 'hosts', { kind: 'Host', metadata: { name: 'mac-1' }, spec }));
  await ok(patch(place.app(0), 'hosts/mac-1/status', { status: { ...status, os: 'darwin' } }));
}

async function aLease(place: Place, i: number, tenant: string): Promise<void> {
  await ok(make(place.app(i), 'tenants', { kind: 'Tenant', metadata: { name: tenant }, spec: {} }));
  await ok(makeLease(place.app(i), tenant, 'ci'));
}

function makeLease(app: App, tenant: string, name: string): Promise<RawAnswer> {
  const spec = { releasePolicy: 'WhenAllowed' };
  return make(app, `namespaces/${tenant}/leases`, { kind: 'Lease', metadata: { name }, spec });
}

/** As the lease duty does. */
function grant(app: App, tenant: string, name = 'ci'): Promise<RawAnswer> {
  return patch(app, `namespaces/${tenant}/leases/${name}/status`, { status: { phase: 'Active', host: 'mac-1' } });
}

async function lessee(place: Place): Promise<unknown> {
  const { body } = await read(place.app(0), 'hosts/mac-1');
  return valueAt(body, ['status', 'lease', 'namespace']);
}

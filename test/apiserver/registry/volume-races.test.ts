import assert from 'node:assert/strict';
import type { App } from '../../../apiserver/requests/server-request.ts';
import { valueAt } from '../../../resources/meta/object.ts';
import { aHostWithDisk } from '../../builders/volume.ts';
import { make, ok, patch, read } from '../../harness/api-objects.ts';
import { onBothStores } from '../../harness/on-both-stores.ts';
import type { RawAnswer } from '../../harness/raw.ts';
import type { Place } from '../../harness/two-servers.ts';

const RACERS = 24;

describe('volumes that are raced for', function () {
  this.timeout(120_000);

  onBothStores(suite);
});

function suite(start: () => Promise<Place>): void {
  it('by VMs: one has it, and the others are told which', async () => {
    await using place = await start();
    await aFleet(place);
    await ok(makeVolume(place.app(0), 'data'));
    const names = Array.from({ length: RACERS }, (_, i) => `vm-${i}`);
    const answers = await Promise.all(names.map((name, i) => makeVM(place.app(i), name)));
    const won = names.filter((_, i) => answers[i]?.status === 201);
    assert.equal(won.length, 1, answers.map(({ text }) => text).join('\n'));
    for (const { status, body } of answers) {
      if (status === 201) continue;
      assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'VolumeInUse']);
      assert.match(body.message ?? '', new RegExp(`in use: it is attached to VM ${won[0]},`));
    }
  });

  it('by VMs before it is there, and before anything is known of their image', async () => {
    await using place = await start();
    await aFleet(place);
    const names = Array.from({ length: RACERS }, (_, i) => `vm-${i}`);
    const answers = await Promise.all(names.map((name, i) => makeVM(place.app(i), name, 'later')));
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  });

  it('by a VM and whoever makes it larger: the VM comes second, or it stays as it is', async () => {
    await using place = await start();
    await aFleet(place);
    await ok(makeVolume(place.app(0), 'data'));
    const sizes = Array.from({ length: 8 }, (_, i) => `${11 + i}Gi`);
    const grow = (size: string, i: number) => patch(place.app(i), 'namespaces/red/volumes/data', { spec: { size } });
    const some = sizes.slice(0, 4);
    const [vm, ...grown] = await Promise.all([makeVM(place.app(1), 'web'), ...some.map(grow)]);
    assert.equal(vm?.status, 201, vm?.text);
    const at = ({ body }: RawAnswer) => Number(body.metadata?.resourceVersion);
    for (const each of grown.filter(({ status }) => status === 200))
      assert.ok(at(each) < at(vm), 'it was made larger under the VM');
    const causes = grown.flatMap(({ body }) => body.details?.causes?.map(({ reason }) => reason) ?? []);
    assert.deepEqual(
      causes.filter((cause) => cause !== 'VolumeInUse' && cause !== 'VolumeShrinks'),
      [],
    );
    const after = await grow('19Gi', 0);
    assert.deepEqual([after.status, after.body.details?.causes?.[0]?.reason], [403, 'VolumeInUse']);
  });

  it('in a burst: no more than the quota of their tenant', async () => {
    await using place = await start();
    await aFleet(place, { quota: { maxVolumeSize: '50Gi' } });
    const names = Array.from({ length: RACERS }, (_, i) => `data-${i}`);
    const answers = await Promise.all(names.map((name, i) => makeVolume(place.app(i), name)));
    assert.equal(answers.filter(({ status }) => status === 201).length, 5);
    const refused = answers.filter(({ status }) => status !== 201);
    for (const { body } of refused)
      assert.match(body.message ?? '', /exceeded quota: maxVolumeSize: requested 10Gi, used 50Gi, limited 50Gi$/);
  });

  it('for the disk of one host: as many as it has', async () => {
    await using place = await start();
    await aFleet(place);
    const names = Array.from({ length: RACERS }, (_, i) => `data-${i}`);
    for (const [i, name] of names.entries()) await ok(makeVolume(place.app(i), name, '30Gi'));
    const answers = await Promise.all(names.map((name, i) => bind(place.app(i), name)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 8, '8 × 30Gi of 256Gi');
    const causes = answers.flatMap(({ body }) => body.details?.causes?.map(({ reason }) => reason) ?? []);
    assert.deepEqual(new Set(causes), new Set(['InsufficientDisk']));
  });

  it('and the lease of their host to another tenant: either the lease has it, or they do', async () => {
    await using place = await start();
    await aFleet(place);
    await ok(make(place.app(0), 'tenants', { kind: 'Tenant', metadata: { name: 'blue' }, spec: {} }));
    await ok(make(place.app(0), 'namespaces/blue/leases', { kind: 'Lease', metadata: { name: 'ci' }, spec: {} }));
    const names = Array.from({ length: 8 }, (_, i) => `data-${i}`);
    for (const name of names) await ok(makeVolume(place.app(0), name));
    const grant = patch(place.app(1), 'namespaces/blue/leases/ci/status', {
      status: { phase: 'Active', host: 'mac-1' },
    });
    const [granted, ...bound] = await Promise.all([grant, ...names.map((name, i) => bind(place.app(i), name))]);
    const there = bound.filter(({ status }) => status === 200).length;
    assert.equal(there > 0, granted?.status !== 200, `${there} volumes bound, lease ${granted?.text}`);
    const { body } = await read(place.app(0), 'hosts/mac-1');
    assert.equal(valueAt(body, ['status', 'lease', 'namespace']), there > 0 ? undefined : 'blue');
  });

  it('and a scrub of their host: either it begins, or they lie there', async () => {
    await using place = await start();
    await aFleet(place);
    const names = Array.from({ length: 8 }, (_, i) => `data-${i}`);
    for (const name of names) await ok(makeVolume(place.app(0), name));
    const { body: host } = await read(place.app(0), 'hosts/mac-1');
    const conditions = valueAt(host, ['status', 'conditions']) as object[];
    const pending = { type: 'ScrubPending', status: 'True', reason: 'Scrubbing', message: '', lastTransitionTime: AT };
    const scrub = { requestedAt: AT, outcome: 'Running' };
    const begin = () =>
      patch(place.app(1), 'hosts/mac-1/status', { status: { scrub, conditions: [...conditions, pending] } });
    const [first = '', ...others] = names;
    // One comes before, the others after.
    const [early, begun, ...late] = await Promise.all([
      bind(place.app(0), first),
      begin(),
      ...others.map((name, i) => bind(place.app(i), name)),
    ]);
    const bound = [early, ...late];
    const there = bound.filter(({ status }) => status === 200).length;
    assert.equal(there > 0, begun?.status !== 200, `${there} volumes bound, scrub ${begun?.text}`);
    if (there > 0) assert.equal(begun?.body.details?.causes?.[0]?.reason, 'VolumesRemain');
  });
}

const AT = '2026-01-01T00:00:00Z';

/** Host `mac-1`, image `tiny` and tenant `red`. */
async function aFleet(place: Place, spec: object = {}): Promise<void> {
  const host = aHostWithDisk();
  await ok(make(place.app(0), 'hosts', { kind: 'Host', metadata: { name: 'mac-1' }, spec: host.spec }));
  await ok(patch(place.app(0), 'hosts/mac-1/status', { status: { ...host.status, os: 'darwin' } }));
  const image = { guestOS: 'linux', source: { path: 'tiny' } };
  await ok(make(place.app(0), 'images', { kind: 'Image', metadata: { name: 'tiny' }, spec: image }));
  await ok(patch(place.app(0), 'images/tiny/status', { status: { digest: 'sha256:aa' } }));
  await ok(make(place.app(0), 'tenants', { kind: 'Tenant', metadata: { name: 'red' }, spec }));
}

function makeVolume(app: App, name: string, size = '10Gi'): Promise<RawAnswer> {
  return make(app, 'namespaces/red/volumes', { kind: 'Volume', metadata: { name }, spec: { size } });
}

function makeVM(app: App, name: string, image = 'tiny'): Promise<RawAnswer> {
  const spec = { image, size: { vcpus: 1, memory: '1Gi' }, volumes: [{ name: 'data' }] };
  return make(app, 'namespaces/red/vms', { kind: 'VM', metadata: { name }, spec });
}

/** As the volume duty does. */
function bind(app: App, name: string): Promise<RawAnswer> {
  return patch(app, `namespaces/red/volumes/${name}`, { spec: { hostName: 'mac-1' } });
}

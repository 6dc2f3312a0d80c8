import assert from 'node:assert/strict';
import type { App } from '../../../apiserver/requests/server-request.ts';
import { type JsonObject, valueAt } from '../../../resources/meta/object.ts';
import { make, ok, patch, read, remove } from '../../harness/api-objects.ts';
import { aHost, DIGEST, EPOCH_START } from '../../harness/builders.ts';
import { onBothStores } from '../../harness/on-both-stores.ts';
import type { RawAnswer } from '../../harness/raw.ts';
import type { Place } from '../../harness/two-servers.ts';

const SIZE = { vcpus: 1, memory: '1Gi' };
const TAKERS = 16;

describe('claims that race', function () {
  this.timeout(120_000);

  onBothStores(suite);
});

function suite(start: () => Promise<Place>): void {
  it('for one guest: one has it, its member is gone from the same moment, and the pool counts one', async () => {
    await using place = await start();
    await aFleet(place);
    const [guest] = await members(place, 1);
    await takers(place, TAKERS);
    const answers = await Promise.all(range(TAKERS).map((i) => claim(place.app(i), `vm-${i}`, guest)));
    assert.deepEqual(statuses(answers), [200, ...Array(TAKERS - 1).fill(403)], texts(answers));
    for (const { status, body } of answers)
      if (status === 403) assert.equal(body.details?.causes?.[0]?.reason, 'GuestTaken');
    assert.deepEqual(await namers(place, guest), [`vm-${answers.findIndex(({ status }) => status === 200)}`]);
    assert.equal((await read(place.app(0), 'namespaces/red/vms/warm-0')).status, 404);
    assert.equal(await claimed(place), 1);
  });

  it('for as many guests as there are VMs, each for its own: each has one, and each is counted', async () => {
    await using place = await start();
    await aFleet(place);
    const guests = await members(place, 6);
    await takers(place, 6);
    const answers = await Promise.all(range(6).map((i) => claim(place.app(i), `vm-${i}`, guests[i])));
    assert.deepEqual(statuses(answers), Array(6).fill(200), texts(answers));
    for (const [i, guest] of guests.entries()) assert.deepEqual(await namers(place, guest), [`vm-${i}`]);
    assert.equal(await claimed(place), 6);
    const { body } = await read(place.app(0), 'namespaces/red/vms/vm-3');
    assert.deepEqual(Object.keys(valueAt(body, ['spec', 'fromPool']) as JsonObject).sort(), [
      'at',
      'name',
      'namespace',
    ]);
  });

  it('with the deletion of the member: either the guest is taken, or its member is on its way out with it', async () => {
    await using place = await start();
    await aFleet(place);
    const guests = await members(place, 8);
    await takers(place, 8);
    const answers = await inTurn(
      guests,
      (guest, i) => claim(place.app(i), `vm-${i}`, guest),
      (_, i) => remove(place.app(i + 1), `namespaces/red/vms/warm-${i}`),
    );
    for (const [i, guest] of guests.entries()) {
      const [took, deleted] = answers[i] ?? [];
      const taken = took?.status === 200;
      assert.equal(deleted?.status, taken ? 404 : 200, deleted?.text);
      assert.deepEqual(await namers(place, guest), [taken ? `vm-${i}` : `warm-${i}`]);
      const member = await read(place.app(0), `namespaces/red/vms/warm-${i}`);
      assert.equal(valueAt(member.body, ['metadata', 'deletionTimestamp']) !== undefined, !taken);
    }
  });

  it('with the guest falling over: what is taken was up at that moment', async () => {
    await using place = await start();
    await aFleet(place);
    const guests = await members(place, 8);
    await takers(place, 8);
    const answers = await inTurn(
      guests,
      (guest, i) => claim(place.app(i), `vm-${i}`, guest),
      (id, i) =>
        patch(place.app(i + 1), `namespaces/red/vms/warm-${i}/status`, {
          status: { guest: { id, power: 'Off', epoch: 1 } },
        }),
    );
    for (const i of range(8)) {
      const [took, fell] = answers[i] ?? [];
      assert.deepEqual([took?.status, fell?.status].sort(), took?.status === 200 ? [200, 404] : [200, 403], fell?.text);
    }
  });
}

/** Two things done with each guest at once, now the one first and now the other. */
function inTurn(
  guests: readonly string[],
  first: (guest: string, i: number) => Promise<RawAnswer>,
  second: (guest: string, i: number) => Promise<RawAnswer>,
): Promise<(readonly [RawAnswer, RawAnswer])[]> {
  return Promise.all(
    guests.map(async (guest, i): Promise<readonly [RawAnswer, RawAnswer]> => {
      if (i % 2 === 0) return Promise.all([first(guest, i), second(guest, i)]);
      const [b, a] = await Promise.all([second(guest, i), first(guest, i)]);
      return [a, b];
    }),
  );
}

const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const statuses = (answers: readonly RawAnswer[]) => answers.map(({ status }) => status).sort();
const texts = (answers: readonly RawAnswer[]) => answers.map(({ text }) => text).join('\n');

/** As placement does. */
function claim(app: App, name: string, guestID = ''): Promise<RawAnswer> {
  return patch(app, `namespaces/red/vms/${name}`, { spec: { hostName: 'mac-1', epoch: 1, guestID } });
}

async function namers(place: Place, guest: string | undefined): Promise<unknown[]> {
  const { body } = await read(place.app(0), 'namespaces/red/vms');
  const items = (valueAt(body, ['items']) ?? []) as JsonObject[];
  return items
    .filter((vm) => valueAt(vm, ['spec', 'guestID']) === guest)
    .map((vm) => valueAt(vm, ['metadata', 'name']));
}

async function claimed(place: Place): Promise<unknown> {
  return valueAt((await read(place.app(0), 'namespaces/red/pools/warm')).body, ['status', 'claimed']);
}

async function takers(place: Place, n: number): Promise<void> {
  for (const i of range(n)) {
    const vm = { kind: 'VM', metadata: { name: `vm-${i}` }, spec: { image: 'tiny', size: SIZE } };
    await ok(make(place.app(i), 'namespaces/red/vms', vm));
  }
}

/** Pool `warm` of tenant red with idle members; answers their guests. */
async function members(place: Place, n: number): Promise<string[]> {
  const pool = { kind: 'Pool', metadata: { name: 'warm' }, spec: { image: 'tiny', size: SIZE, replicas: n } };
  const made = await ok(make(place.app(0), 'namespaces/red/pools', pool));
  const owner = { apiVersion: 'coppice.dev/v1', kind: 'Pool', name: 'warm', controller: true };
  const ownerReferences = [{ ...owner, uid: valueAt(made.body, ['metadata', 'uid']) }];
  const guests: string[] = [];
  for (const i of range(n)) {
    const metadata = { name: `warm-${i}`, ownerReferences };
    const spec = { image: 'tiny', size: SIZE, claimable: true, hostName: 'mac-1', epoch: 1 };
    const member = await ok(make(place.app(i), 'namespaces/red/vms', { kind: 'VM', metadata, spec }));
    const guest = String(valueAt(member.body, ['spec', 'guestID']));
    guests.push(guest);
    const status = {
      phase: 'Running',
      host: 'mac-1',
      guest: { id: guest, power: 'Running', epoch: 1 },
      conditions: [{ type: 'Ready', status: 'True', reason: 'Running', message: '', lastTransitionTime: EPOCH_START }],
    };
    await ok(patch(place.app(i), `namespaces/red/vms/warm-${i}/status`, { status }));
  }
  return guests;
}

async function aFleet(place: Place): Promise<void> {
  const { spec, status } = aHost();
  await ok(make(place.app(0), 'hosts', { kind: 'Host', metadata: { name: 'mac-1' }, spec }));
  await ok(patch(place.app(0), 'hosts/mac-1/status', { status }));
  const image = { guestOS: 'linux', source: { path: 'tiny' } };
  await ok(make(place.app(0), 'images', { kind: 'Image', metadata: { name: 'tiny' }, spec: image }));
  await ok(patch(place.app(0), 'images/tiny/status', { status: { digest: DIGEST } }));
  await ok(make(place.app(0), 'tenants', { kind: 'Tenant', metadata: { name: 'red' }, spec: {} }));
}

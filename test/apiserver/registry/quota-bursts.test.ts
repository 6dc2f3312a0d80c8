import assert from 'node:assert/strict';
import type { App } from '../../../apiserver/requests/server-request.ts';
import { aHost } from '../../harness/builders.ts';
import { onBothStores } from '../../harness/on-both-stores.ts';
import { peakUse } from '../../harness/quota-history.ts';
import { createVM, makeQuota, VMS_URL } from '../../harness/quota-world.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { type Place, twoFarServers } from '../../harness/two-servers.ts';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const TENANT = '/apis/coppice.dev/v1/tenants/red';
const LEASES = '/apis/coppice.dev/v1/namespaces/red/leases';
const GI = 2 ** 30;

describe('a burst against a quota', function () {
  this.timeout(120_000);

  onBothStores(suite);

  describe('over two servers far from their store', () => {
    suite(twoFarServers);
  });
});

function suite(start: () => Promise<Place>): void {
  it('lets VMs in by vCPUs and by memory, whichever is used up first', async () => {
    await using place = await start();
    await makeQuota(place.app(0), 100);
    await setQuota(place.app(0), { maxVCPUs: 20, maxMemory: '64Gi' });
    await admits(
      10,
      Array.from({ length: 40 }, (_, i) => () => createVM(place.app(i), `vm-${i}`)),
    );
    assert.deepEqual(await vmPeak(place), [10, 20, 40 * GI]);
    await setQuota(place.app(0), { maxVCPUs: 100, maxMemory: '64Gi' });
    await admits(
      6,
      Array.from({ length: 40 }, (_, i) => () => createVM(place.app(i), `more-${i}`)),
    );
    assert.deepEqual(await vmPeak(place), [16, 32, 64 * GI]);
  });

  it('lets VMs that are off be started as there is room', async () => {
    await using place = await start();
    await makeQuota(place.app(0), 100);
    await setQuota(place.app(0), { maxVCPUs: 12 });
    await makeVMs(place, 24, 'Stopped');
    await admits(
      6,
      Array.from({ length: 24 }, (_, i) => () => setPower(place.app(i), i, 'Running')),
    );
    assert.deepEqual(await vmPeak(place), [24, 12, 24 * GI]);
  });

  it('lets paused VMs be resumed as there is room', async () => {
    await using place = await start();
    await makeQuota(place.app(0), 100);
    await makeVMs(place, 24, 'Paused');
    for (let i = 0; i < 24; i++) await ok(guestIs(place.app(i), i, 'Paused'));
    await setQuota(place.app(0), { maxMemory: '20Gi' });
    await admits(
      5,
      Array.from({ length: 24 }, (_, i) => () => setPower(place.app(i), i, 'Running')),
    );
    assert.equal((await peakUse(place.store, 'red')).memoryBytes, 20 * GI);
  });

  it('lets as many Leases be made as hosts may be leased, by the default of the policy too', async () => {
    await using place = await start();
    await makeQuota(place.app(0), 100);
    const body = { spec: { defaultQuota: { maxLeasedHosts: 3 } } };
    await ok(send(place.app(0), 'PATCH', '/apis/coppice.dev/v1/policies/default', { body, headers: MERGE }));
    await admits(
      3,
      Array.from({ length: 20 }, (_, i) => () => makeLease(place.app(i), `first-${i}`)),
    );
    await setQuota(place.app(0), { maxLeasedHosts: 5 });
    await admits(
      2,
      Array.from({ length: 20 }, (_, i) => () => makeLease(place.app(i), `second-${i}`)),
    );
    assert.equal((await peakUse(place.store, 'red')).openLeases, 5);
  });

  it('gives Leases that are there already as many hosts as may be leased, and a held one to the next', async () => {
    await using place = await start();
    await makeQuota(place.app(0), 100);
    const leases = Array.from({ length: 12 }, (_, i) => i);
    for (const i of leases) await makeMac(place.app(i), i);
    for (const i of leases) await ok(makeLease(place.app(i), `ci-${i}`));
    await setQuota(place.app(0), { maxLeasedHosts: 3 });
    await admits(
      3,
      leases.map((i) => () => grant(place.app(i), `ci-${i}`, `mac-${i}`)),
    );
    assert.equal((await peakUse(place.store, 'red')).leasedHosts, 3);

    const { body } = await send(place.app(0), 'GET', `${LEASES}?fieldSelector=status.phase%3DActive`);
    const held = body.items?.[0]?.metadata.name ?? '';
    await ok(send(place.app(0), 'DELETE', `${LEASES}/${held}`));
    const host = held.replace('ci-', 'mac-');
    const others = leases
      .map((i) => `ci-${i}`)
      .filter((name) => body.items?.every(({ metadata }) => metadata.name !== name));
    await admits(
      0,
      others.map((name, i) => () => grant(place.app(i), name, name.replace('ci-', 'mac-'))),
    );
    await ok(grant(place.app(1), others[0] ?? '', host));
    assert.equal((await peakUse(place.store, 'red')).leasedHosts, 3);
  });
}

/** As the lease duty does. */
const grant = (app: App, name: string, host: string) =>
  send(app, 'PATCH', `${LEASES}/${name}/status`, { body: { status: { phase: 'Active', host } }, headers: MERGE });

async function makeMac(app: App, i: number): Promise<void> {
  const at = '/apis/coppice.dev/v1/hosts';
  const { spec, status } = aHost({ name: `mac-${i}` });
  const body = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: `mac-${i}` }, spec };
  await ok(send(app, 'POST', at, { body }));
  const found = { status: { ...status, os: 'darwin' } };
  await ok(send(app, 'PATCH', `${at}/mac-${i}/status`, { body: found, headers: MERGE }));
}

/** Asks for all at once: exactly so many are let in, and the others are told of the quota. */
async function admits(room: number, asks: readonly (() => Promise<RawAnswer>)[]): Promise<void> {
  // On a machine that is busy patience runs out for some, who then try again as they are told.
  const judged = async (ask: () => Promise<RawAnswer>): Promise<RawAnswer> => {
    const answer = await ask();
    return answer.status === 503 ? judged(ask) : answer;
  };
  const answers = await Promise.all(asks.map(judged));
  for (const { status, body, text } of answers) {
    if (status < 300) continue;
    assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'QuotaExceeded'], text);
    assert.match(String(body.message), / is forbidden: exceeded quota: max\w+: requested /);
  }
  assert.equal(answers.filter(({ status }) => status < 300).length, room);
}

async function vmPeak({ store }: Place): Promise<readonly number[]> {
  const { vms, vcpus, memoryBytes } = await peakUse(store, 'red');
  return [vms, vcpus, memoryBytes];
}

const setQuota = (app: App, quota: object) =>
  ok(send(app, 'PATCH', TENANT, { body: { spec: { quota } }, headers: MERGE }));

async function makeVMs({ app }: Place, count: number, power: string): Promise<void> {
  const make = (i: number) => {
    const spec = { image: 'tiny', power };
    const body = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: `vm-${i}` }, spec };
    return ok(send(app(i), 'POST', VMS_URL, { body }));
  };
  for (let i = 0; i < count; i++) await make(i);
}

const setPower = (app: App, i: number, power: string) =>
  send(app, 'PATCH', `${VMS_URL}/vm-${i}`, { body: { spec: { power } }, headers: MERGE });

const guestIs = (app: App, i: number, power: string) =>
  send(app, 'PATCH', `${VMS_URL}/vm-${i}/status`, {
    body: { status: { guest: { id: `g-${i}`, power, epoch: 1 } } },
    headers: MERGE,
  });

const makeLease = (app: App, name: string) =>
  send(app, 'POST', LEASES, {
    body: { apiVersion: 'coppice.dev/v1', kind: 'Lease', metadata: { name }, spec: { releasePolicy: 'WhenAllowed' } },
  });

async function ok(answer: Promise<RawAnswer>): Promise<void> {
  const { status, text } = await answer;
  assert.ok(status < 300, text);
}

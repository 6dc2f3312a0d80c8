import assert from 'node:assert/strict';
import { ok, patch } from '../../harness/api-objects.ts';
import { onBothStores } from '../../harness/on-both-stores.ts';
import { createVM, makeQuota, removeVM } from '../../harness/quota-world.ts';
import type { RawAnswer } from '../../harness/raw.ts';
import { type Place, twoFarServers } from '../../harness/two-servers.ts';

const ROUNDS = 6;
const RACERS = 24;
const LIMIT = 5;

describe('a quota', function () {
  this.timeout(120_000);

  onBothStores(suite);

  describe('over two servers on a store that answers late', () => {
    suite(twoFarServers);
  });
});

function suite(start: () => Promise<Place>): void {
  it('that is set while VMs are made that nothing limited holds for all that come after it', async () => {
    await using place = await start();
    await makeQuota(place.app(0), LIMIT);
    let [earlier, later] = [0, 0];
    for (let round = 0; round < ROUNDS; round++) {
      await ok(patch(place.app(0), 'tenants/red', { spec: { quota: null } }));
      const names = Array.from({ length: RACERS }, (_, i) => `vm-${round}-${i}`);
      const creates = names.map((name) => createVM(place.app(1), name));
      await Promise.race(creates.slice(round));
      const setting = patch(place.app(0), 'tenants/red', { spec: { quota: { maxVMs: LIMIT + round } } });
      const answers = await Promise.all(creates);
      const setAt = at(await ok(setting));
      const made = names.filter((_, i) => answers[i]?.status === 201);
      const revisions = answers.filter(({ status }) => status === 201).map(at);
      const before = revisions.filter((revision) => revision < setAt).length;
      const since = revisions.length - before;
      assert.ok(since <= Math.max(0, LIMIT + round - before), `${before} before the quota was set, ${since} after`);
      for (const { status, body } of answers)
        assert.ok(status === 201 || body.details?.causes?.[0]?.reason === 'QuotaExceeded', `${status}`);
      earlier += before;
      later += since;
      for (const [i, name] of made.entries()) await ok(removeVM(place.app(i), name));
    }
    process.stdout.write(`      ${earlier} VMs made before it, ${later} after\n`);
  });

  it('that is not there lets VMs be made side by side, each at its first try', async () => {
    await using place = await start();
    await makeQuota(place.app(0), LIMIT);
    await ok(patch(place.app(0), 'tenants/red', { spec: { quota: null } }));
    const names = Array.from({ length: 4 * RACERS }, (_, i) => `vm-${i}`);
    const answers = await Promise.all(names.map((name, i) => createVM(place.app(i), name)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
  });
}

const at = ({ body }: RawAnswer) => Number(body.metadata?.resourceVersion);

import assert from 'node:assert/strict';
import { send } from '../harness/raw.ts';
import { twoFarServers } from '../harness/two-servers.ts';
import { until } from '../harness/until.ts';

const API = '/apis/coppice.dev/v1';
const MERGE = { 'content-type': 'application/merge-patch+json' };

describe('deleting the policy or the prices', () => {
  for (const [plural, spec] of [
    ['pricelists', { macPerHour: '3' }],
    ['policies', { minLeaseHours: 48 }],
  ] as const) {
    it(`resets them: ${plural}, on two servers`, async () => {
      await using place = await twoFarServers();
      const url = `${API}/${plural}/default`;
      const first = await send(place.app(0), 'GET', url);
      const set = await send(place.app(0), 'PATCH', url, { headers: MERGE, body: { spec } });
      assert.equal(set.status, 200, set.text);
      assert.equal((await send(place.app(1), 'DELETE', url)).status, 200);
      for (const server of [0, 1]) {
        await until('it is there again', async () => {
          const { status, body } = await send(place.app(server), 'GET', url);
          return status === 200 && body.metadata?.uid !== first.body.metadata?.uid;
        });
        assert.deepEqual((await send(place.app(server), 'GET', url)).body.spec, first.body.spec);
      }
    });
  }
});

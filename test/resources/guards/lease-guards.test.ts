import assert from 'node:assert/strict';
import { leaseMinimum } from '../../../resources/guards/lease-guards.ts';
import { HOSTS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import { aHost, aLease } from '../../harness/builders.ts';

const UNTIL = '2026-01-02T00:00:00Z';

/** What an early end of a lease is answered. */
function told({ operator, gone }: { operator: boolean; gone: boolean }, release?: object): string | undefined {
  const world = new World();
  if (!gone) world.set(HOSTS, 'mac-1', aHost(), 1);
  const host = { host: 'mac-1', hostUID: aHost().metadata.uid };
  const before = aLease({
    status: { phase: 'Active', ...host, grantedAt: '2026-01-01T00:00:00Z', earliestEnd: UNTIL },
  });
  const after = release === undefined ? undefined : { ...before, spec: { ...before.spec, release } };
  const asker = { user: 'ann', groups: [], operator };
  return leaseMinimum.judge({ before, after }, world, { nowMs: Date.parse(UNTIL) - 1, asker })?.message;
}

describe('the refusal of an early end', () => {
  it('says until when, and what an owner can do instead', () => {
    assert.equal(
      told({ operator: false, gone: false }),
      `its minimum term ends at ${UNTIL}; release it then (spec.release.at: ${UNTIL}), or set spec.releasePolicy to WhenAllowed and delete it: its host is held until then. Only an operator can force it to end before`,
    );
  });

  it('names the command that forces it to an operator', () => {
    assert.match(
      told({ operator: true, gone: false }, {}) ?? '',
      /To end it now: coppice lease release ci -n red --force$/,
    );
  });

  it('proposes nothing that holds a host when that is gone', () => {
    for (const release of [undefined, {}]) {
      const message = told({ operator: false, gone: true }, release) ?? assert.fail('it was not refused');
      assert.match(message, /its host is gone, so it ends then by itself\. Only an operator/);
      assert.doesNotMatch(message, /WhenAllowed/);
    }
  });

  it('is none when it is asked for then', () => {
    assert.equal(told({ operator: false, gone: false }, { at: UNTIL }), undefined);
  });
});

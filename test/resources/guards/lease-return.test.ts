import assert from 'node:assert/strict';
import { leaseRefusal, returnsTo } from '../../../resources/guards/lease-host.ts';
import { TENANTS, VOLUMES } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { Volume } from '../../../resources/kinds/volume.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { aHostWithDisk, aVolume } from '../../builders/volume.ts';
import { aLease, aTenant, EPOCH_START } from '../../harness/builders.ts';

type Status = NonNullable<Host['status']>;
const LATER = '2026-06-01T00:00:00Z';

/** `mac-1`, which waits for a scrub after the last lease of `red`. */
function aHost(more: Partial<Status> = {}, last: object = {}): Host {
  const host = aHostWithDisk();
  const pending = {
    type: 'ScrubPending',
    status: 'True',
    reason: 'r',
    message: '',
    lastTransitionTime: EPOCH_START,
  } as const;
  const ended = { namespace: 'red', name: 'ci', uid: 'u', since: LATER, endedAt: LATER, billedUntil: LATER, ...last };
  return {
    ...host,
    status: {
      ...host.status,
      os: 'darwin',
      pastLeases: [ended],
      conditions: [...(host.status?.conditions ?? []), pending],
      ...more,
    },
  };
}

function aWorld(volumes: readonly Volume[], tenantMade = EPOCH_START): World {
  const world = new World();
  for (const name of ['red', 'blue']) {
    const tenant = aTenant(name);
    const made = { ...tenant, metadata: { ...tenant.metadata, creationTimestamp: tenantMade } };
    world.set(TENANTS, name, made, 1);
  }
  for (const volume of volumes) world.set(VOLUMES, objectKey(volume.metadata), volume, 1);
  return world;
}

describe('a host that waits for a scrub, with volumes on it', () => {
  const own = [aVolume()];

  it('may be leased again by the tenant whose it was and whose they are, as it is', () => {
    assert.equal(returnsTo('red', aHost(), aWorld(own)), true);
    assert.equal(leaseRefusal(aLease(), aHost(), aWorld(own)), undefined);
    assert.equal(leaseRefusal(aLease({ namespace: 'blue' }), aHost(), aWorld(own))?.filter, 'ScrubPending');
  });

  it('may not where it was another’s last, or anything on it is', () => {
    assert.equal(returnsTo('blue', aHost(), aWorld([aVolume({ namespace: 'blue' })])), false);
    assert.equal(returnsTo('red', aHost(), aWorld([...own, aVolume({ name: 'b', namespace: 'blue' })])), false);
    const orphans = [{ id: 'g', label: 'blue/x', power: 'Running' }];
    assert.equal(returnsTo('red', aHost({ orphans }), aWorld(own)), false);
  });

  it('may not for nothing: where none of its volumes is left, or only what is lost or of another Host', () => {
    assert.equal(returnsTo('red', aHost(), aWorld([])), false);
    assert.equal(returnsTo('red', aHost(), aWorld([aVolume({ status: { phase: 'Lost' } })])), false);
    assert.equal(returnsTo('red', aHost(), aWorld([aVolume({ host: 'mac-2' })])), false);
  });

  it('may not once a scrub is at work, takes them, or came after', () => {
    const scrub = (outcome: 'Running' | 'Waiting' | 'Refused', more: object = {}) =>
      returnsTo('red', aHost({ scrub: { requestedAt: LATER, outcome, ...more } }), aWorld(own));
    assert.deepEqual([scrub('Running'), scrub('Waiting', { takesVolumes: true })], [false, false]);
    assert.deepEqual([scrub('Waiting'), scrub('Refused')], [true, true]);
    assert.equal(returnsTo('red', aHost({}, { scrubbedAt: LATER }), aWorld(own)), false);
  });

  it('may not by a tenant that was made anew under the name', () => {
    assert.equal(returnsTo('red', aHost({}, { since: EPOCH_START }), aWorld(own, LATER)), false);
  });
});

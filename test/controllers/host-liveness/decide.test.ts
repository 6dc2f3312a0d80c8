import assert from 'node:assert/strict';
import { GRACE_MS, hostConditions, judge } from '../../../controllers/host-liveness/decide.ts';
import { Sightings } from '../../../controllers/host-liveness/sightings.ts';
import { rfc3339 } from '../../../resources/ambient/clock.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import type { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import { HOST_LEASE_RENEWAL_MS } from '../../../resources/streams/control-messages.ts';
import { aHost, EPOCH_START } from '../../harness/builders.ts';

const T0 = Date.parse(EPOCH_START);
const MINUTE = HOST_LEASE_RENEWAL_MS;

function aLease(renewedMs: number, holderIdentity?: string): CoordinationLease {
  const metadata = {
    name: 'host-a',
    namespace: 'coppice-system',
    uid: 'l',
    resourceVersion: '1',
    creationTimestamp: EPOCH_START,
  };
  const spec = { renewTime: rfc3339(renewedMs), ...(holderIdentity === undefined ? {} : { holderIdentity }) };
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
}

/** The verdicts over time on a duty that starts at 0 and sees these Leases at these times, asked at these others. */
function verdicts(
  seen: readonly (readonly [atMs: number, lease: CoordinationLease | undefined])[],
  asked: readonly number[],
) {
  const clock = new ManualClock(T0);
  return asked.map((at) => {
    const sightings = new Sightings({
      ...clock,
      now: () => 0,
      sleep: clock.sleep,
      after: clock.after,
      monotonic: () => now,
    });
    let now = 0;
    for (const [when, lease] of seen) {
      if (when > at) break;
      now = when;
      sightings.see('a', lease);
    }
    const last = sightings.see('a', seen.filter(([when]) => when <= at).at(-1)?.[1]);
    return judge(last, at, T0 + at).is;
  });
}

describe('whether a nodelet is heard from', () => {
  it('alive while its Lease is renewed', () => {
    const seen = [0, 1, 2, 3].map((n) => [n * MINUTE, aLease(T0 + n * MINUTE, 's')] as const);
    assert.deepEqual(verdicts(seen, [0, MINUTE - 1, MINUTE, 3 * MINUTE]), ['alive', 'alive', 'alive', 'alive']);
  });

  it('silent when the renewal that was due is a grace period late', () => {
    const seen = [[0, aLease(T0, 's')]] as const;
    assert.deepEqual(verdicts(seen, [MINUTE - 1, MINUTE, MINUTE + GRACE_MS - 1, MINUTE + GRACE_MS]), [
      'alive',
      'unsure',
      'unsure',
      'silent',
    ]);
  });

  it('silent a grace period after nobody holds its socket any more', () => {
    const seen = [
      [0, aLease(T0, 's')],
      [10_000, aLease(T0 + 10_000)],
    ] as const;
    assert.deepEqual(verdicts(seen, [10_000, 10_000 + GRACE_MS - 1, 10_000 + GRACE_MS]), [
      'unsure',
      'unsure',
      'silent',
    ]);
  });

  it('never silent before one full grace period after the duty started, however old what it finds', () => {
    for (const old of [undefined, aLease(T0 - 9 * MINUTE), aLease(T0 - 9 * MINUTE, 's')]) {
      assert.deepEqual(verdicts([[0, old]], [0, GRACE_MS - 1, GRACE_MS]), ['unsure', 'unsure', 'silent']);
    }
  });

  it('alive by a renewal it saw, whatever the clock of the server says', () => {
    const wrong = [
      [0, aLease(T0 - 9 * MINUTE, 's')],
      [1_000, aLease(T0 - 8 * MINUTE, 's')],
    ] as const;
    assert.deepEqual(verdicts(wrong, [999, 1_000, MINUTE]), ['unsure', 'alive', 'alive']);
  });

  it('alive again as soon as it is back', () => {
    const seen = [
      [0, aLease(T0)],
      [90_000, aLease(T0 + 90_000, 's')],
    ] as const;
    assert.deepEqual(verdicts(seen, [89_999, 90_000]), ['silent', 'alive']);
  });
});

describe('the conditions of a host', () => {
  const without = (host: Host, ...types: string[]): Host => ({
    ...host,
    status: { ...host.status, conditions: (host.status?.conditions ?? []).filter(({ type }) => !types.includes(type)) },
  });
  const told = (host: Host, is: 'alive' | 'unsure' | 'silent', lease?: CoordinationLease) =>
    Object.fromEntries(
      hostConditions(host, is, lease, T0)
        .filter(({ type }) => type !== 'DriverReady')
        .map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]),
    );

  it('Ready when the nodelet is heard and its driver works', () => {
    assert.deepEqual(told(aHost({ ready: false }), 'alive'), {
      Ready: 'True NodeletReady: its nodelet is connected and its driver works',
      Schedulable: 'True Open: takes new VMs',
    });
  });

  it('not Ready for the reason its driver gives, and not Schedulable with it', () => {
    assert.deepEqual(
      told(without(aHost(), 'DriverReady'), 'alive').Ready,
      'False DriverUnknown: its nodelet has not said yet whether its driver works',
    );
  });

  it('Unknown when silent, with the last proof of life', () => {
    const { Ready, Schedulable } = told(aHost(), 'silent', aLease(T0));
    assert.equal(Ready, 'Unknown NodeletSilent: last heard from its nodelet at 2026-01-01T00:00:00Z');
    assert.match(Schedulable ?? '', /^False NotReady/);
    assert.equal(told(aHost(), 'silent').Ready, 'Unknown NodeletSilent: never heard from its nodelet');
  });

  it('what they were while nobody can say yet, but of the generation there is', () => {
    const moved = { ...aHost(), metadata: { ...aHost().metadata, generation: 7 } };
    assert.equal(told(moved, 'unsure').Ready, 'True Test: ');
    assert.equal(
      hostConditions(moved, 'unsure', undefined, T0).find(({ type }) => type === 'Ready')?.observedGeneration,
      7,
    );
    assert.match(told(without(aHost(), 'Ready'), 'unsure').Ready ?? '', /^Unknown NodeletUnheard/);
  });

  it('Ready but not Schedulable when cordoned', () => {
    const { Ready, Schedulable } = told(aHost({ cordoned: true }), 'alive');
    assert.match(Ready ?? '', /^True/);
    assert.match(Schedulable ?? '', /^False Cordoned/);
  });

  it('leave those of other owners alone', () => {
    const before = aHost().status?.conditions?.find(({ type }) => type === 'DriverReady');
    const after = hostConditions(aHost(), 'silent', undefined, T0).find(({ type }) => type === 'DriverReady');
    assert.deepEqual(after, before);
  });
});

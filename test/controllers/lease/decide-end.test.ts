import assert from 'node:assert/strict';
import { decideClaim, decideEnd } from '../../../controllers/lease/decide-end.ts';
import { SteadyClock } from '../../../controllers/lease/steady-clock.ts';
import { LEASE_FINALIZER } from '../../../resources/guards/lease-admission.ts';
import { HOSTS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import { aHost, aLease, aVM } from '../../harness/builders.ts';
import { SettableClock } from '../../harness/fleet-world.ts';

const HOUR_MS = 3_600_000;
const GRANTED = Date.parse('2026-01-01T00:00:00Z');
const instant = (ms: number) => new Date(ms).toISOString();
const at = (wallMs: number, steadyMs = wallMs) => ({ wallMs, steadyMs });
const world = new World();
world.set(HOSTS, 'mac-1', aHost(), 1);

function granted(spec: Partial<Lease['spec']> = {}, phase: 'Active' | 'Ending' | 'Ended' = 'Active'): Lease {
  const times = { grantedAt: instant(GRANTED), earliestEnd: instant(GRANTED + 24 * HOUR_MS) };
  return aLease({ spec, status: { phase, host: 'mac-1', hostUID: 'uid-of-mac-1', ...times } });
}

const kind = (lease: Lease, wallMs: number, steadyMs = wallMs) =>
  decideEnd(lease, [], world, at(wallMs, steadyMs)).kind;

describe('the end of a lease', () => {
  it('comes after its duration, its release or its deletion, whichever is first, but not before the minimum', () => {
    const cases: readonly [Lease, number | undefined][] = [
      [granted(), undefined],
      [granted({ duration: '30h' }), 30],
      [granted({ duration: '2h' }), 24],
      [granted({ duration: '1h30m' }), 24],
      [granted({ release: { requestedAt: instant(GRANTED + HOUR_MS) } }), 24],
      [granted({ release: { requestedAt: instant(GRANTED + 25 * HOUR_MS) } }), 25],
      [granted({ release: { at: instant(GRANTED + 40 * HOUR_MS) }, duration: '30h' }), 30],
      [granted({ release: { at: instant(GRANTED + 26 * HOUR_MS) }, duration: '30h' }), 26],
      [granted({ release: { force: true, requestedAt: instant(GRANTED + 3 * HOUR_MS) } }), 3],
      [
        granted({
          release: { force: true, requestedAt: instant(GRANTED + 3 * HOUR_MS), at: instant(GRANTED + 9 * HOUR_MS) },
        }),
        3,
      ],
    ];
    for (const [lease, hours] of cases) {
      const endMs = GRANTED + (hours ?? 10_000) * HOUR_MS;
      assert.equal(kind(lease, endMs - 1), 'goes-on', JSON.stringify(lease.spec));
      assert.equal(kind(lease, endMs), hours === undefined ? 'goes-on' : 'begin', JSON.stringify(lease.spec));
    }
    const deleted = granted();
    const metadata = { ...deleted.metadata, deletionTimestamp: instant(GRANTED + 25 * HOUR_MS) };
    assert.equal(kind({ ...deleted, metadata }, GRANTED + 25 * HOUR_MS - 1), 'goes-on');
    assert.equal(kind({ ...deleted, metadata }, GRANTED + 25 * HOUR_MS), 'begin');
  });

  it('needs both the clock and the time that went by to have come, and says so when they differ about it', () => {
    const lease = granted({ duration: '24h' });
    const end = GRANTED + 24 * HOUR_MS;
    for (const [wall, steady] of [
      [end + HOUR_MS, end - HOUR_MS],
      [end - HOUR_MS, end + HOUR_MS],
    ] as const) {
      const decision = decideEnd(lease, [], world, at(wall, steady));
      assert.deepEqual(
        [
          decision.kind,
          decision.kind === 'goes-on' && decision.againInMs,
          decision.kind === 'goes-on' && decision.suspect === undefined,
        ],
        ['goes-on', HOUR_MS, false],
      );
    }
    const near = decideEnd(lease, [], world, at(end + 2_000, end - 2_000));
    assert.deepEqual(near, { kind: 'goes-on', againInMs: 2_000 });
    assert.equal(kind(lease, end, end), 'begin');
  });

  it('comes with the minimum when its host is gone, and then has nothing to clear', () => {
    const lost = { ...granted(), status: { ...granted().status, hostUID: 'another' } };
    assert.equal(kind(lost, GRANTED + 24 * HOUR_MS - 1), 'goes-on');
    assert.equal(kind(lost, GRANTED + 24 * HOUR_MS), 'begin');
    const elsewhere = aVM({ spec: { hostName: 'mac-1' } });
    const ending = { ...lost, status: { ...lost.status, phase: 'Ending' as const } };
    assert.deepEqual(decideEnd(ending, [elsewhere], world, at(GRANTED)), { kind: 'let-go' });
  });

  it("waits until the guests of the lessee are gone, and nobody else's", () => {
    const own = aVM({
      name: 'a',
      spec: { hostName: 'mac-1' },
      status: { guest: { id: 'a', power: 'Running', epoch: 1 } },
    });
    const others = aVM({ name: 'b', namespace: 'blue', spec: { hostName: 'mac-1' } });
    const gone = { ...own, status: { guest: { id: 'a', power: 'Gone' as const, epoch: 1 } } };
    const deleted = { ...gone, metadata: { ...gone.metadata, deletionTimestamp: instant(GRANTED) } };
    const lease = granted({}, 'Ending');
    assert.deepEqual(decideEnd(lease, [own, others], world, at(GRANTED)), { kind: 'clear', vms: [own] });
    assert.deepEqual(decideEnd(lease, [deleted, others], world, at(GRANTED)), { kind: 'let-go' });
  });

  it('leaves a record, which goes when it is deleted', () => {
    const lease = granted({}, 'Ended');
    assert.equal(kind(lease, GRANTED), 'nothing');
    const metadata = { ...lease.metadata, deletionTimestamp: instant(GRANTED), finalizers: [LEASE_FINALIZER] };
    assert.equal(kind({ ...lease, metadata }, GRANTED), 'release');
  });

  it('of a host that is held without a Lease comes with the minimum', () => {
    const since = instant(GRANTED);
    const earliestEnd = instant(GRANTED + 24 * HOUR_MS);
    const claim = { namespace: 'red', name: 'ci', uid: 'u', since, earliestEnd };
    const host = (lease: object) => ({ ...aHost(), status: { lease: { ...claim, ...lease } } });
    const said = (lease: object, ms: number) => decideClaim(host(lease), [], world, at(ms)).kind;
    assert.equal(said({}, GRANTED + 30 * HOUR_MS), 'nothing');
    assert.equal(said({ released: true }, GRANTED + 24 * HOUR_MS - 1), 'goes-on');
    assert.equal(said({ released: true }, GRANTED + 24 * HOUR_MS), 'begin');
    assert.equal(said({ released: true, ending: true }, GRANTED + 24 * HOUR_MS), 'let-go');
  });
});

describe('the clock of the lease duty', () => {
  it('adds to a lease what the clock was behind when it was given, also for who takes it over', async () => {
    const clock = new SettableClock(GRANTED);
    const steady = new SteadyClock(clock);
    clock.set(-2 * HOUR_MS);
    const dated = instant(clock.now());
    steady.given('first');
    clock.set(2 * HOUR_MS);
    await clock.advance(HOUR_MS);
    steady.given('second', 'first');
    for (const [uid, late] of [
      ['second', 2],
      ['first', 0],
      ['stranger', 0],
    ] as const) {
      const { wallMs, steadyMs } = steady.readFor(uid, dated);
      assert.deepEqual([wallMs, steadyMs], [GRANTED + HOUR_MS, GRANTED + HOUR_MS - late * HOUR_MS], uid);
    }
    steady.forget('second');
    assert.equal(steady.readFor('second', dated).steadyMs, GRANTED + HOUR_MS);
  });
});

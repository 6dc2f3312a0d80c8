import assert from 'node:assert/strict';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { putUnguarded } from '../harness/put-unguarded.ts';
import { aLease } from '../resources/invariants/crafted-objects.ts';
import { type FleetChaosReport, runFleetChaos } from './fleet-one-process.ts';

const SEED = Number(process.env.COPPICE_SEED ?? Number.parseInt(systemIds.secret(3), 16));

describe('a fleet in one process, on a clock of its own, over a store that fails in every way', () => {
  it('breaks no promise, whatever its tenants do for days', async function () {
    this.timeout(300_000);
    process.stdout.write(`      COPPICE_SEED=${SEED}\n`);
    const report = await runFleetChaos(SEED, 200);
    assert.deepEqual(report.violations, [], told(report));
    assert.equal(report.figures.unseen, 0, 'every revision was judged');
    // A seed may leave out one of them, never all.
    const seen = ['leases granted', 'VMs running', 'VMs gone'].filter((what) => (report.seen.get(what) ?? 0) > 0);
    assert.ok(seen.length > 0, told(report));
    assert.ok(report.figures.judged > 50, told(report));
  });

  it('would be seen to break one', async function () {
    this.timeout(300_000);
    const lease = aLease({ namespace: 'nobody', status: { host: 'mac-1' } });
    const { hostUID: _, ...status } = lease.status ?? {};
    const report = await runFleetChaos(SEED, 20, ({ fleet }) =>
      putUnguarded(fleet.test, { ref: Lease, object: { ...lease, status } }),
    );
    const said = report.violations.map(({ invariant, message }) => `${invariant}: ${message}`).join('\n');
    assert.match(said, /^one-lease-per-host: .*lease\/nobody\/ci/m);
    assert.ok(report.journal.some((line) => line.includes('lease/nobody/ci')));
  });
});

const told = ({ lines, violations, journal }: FleetChaosReport) =>
  [`seed ${SEED}`, ...lines, ...violations.map(({ revision, message }) => `${revision}: ${message}`), ...journal].join(
    '\n',
  );

import assert from 'node:assert/strict';
import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Random } from '../fuzz/random.ts';
import { FleetProcesses } from './fleet-processes.ts';
import { fleetLines, runFleet } from './run-fleet.ts';

const SEED = Number(process.env.COPPICE_SEED ?? Number.parseInt(systemIds.secret(3), 16));
const DURATION_MS = 20_000;

describe('a fleet of real processes, all of them killed and halted', () => {
  it('breaks no promise for twenty seconds', async function () {
    this.timeout(300_000);
    process.stdout.write(`      COPPICE_SEED=${SEED}\n`);
    await using world = await FleetProcesses.start({ store: 'sqlite', seed: SEED, controllers: 1, nodelets: 1 });
    const report = await runFleet(world, { clock, random: new Random(SEED), durationMs: DURATION_MS });
    assert.deepEqual(report.violations, [], [`seed ${SEED}`, ...fleetLines(report)].join('\n'));
    assert.ok(report.figures.judged > 1, 'nothing was judged');
  });
});

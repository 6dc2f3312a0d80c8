import assert from 'node:assert/strict';
import { ManualClock } from '../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Random } from '../fuzz/random.ts';
import { driven, OneProcessWorld } from './one-process-world.ts';
import { assertKept } from './report.ts';
import { runChaos } from './run-chaos.ts';

const SEED = Number(process.env.COPPICE_SEED ?? Number.parseInt(systemIds.secret(3), 16));
const MINUTE_MS = 60_000;

describe('two API servers over a store that fails in every way, on a clock of their own', () => {
  it('keep every promise for a minute of it', async function () {
    this.timeout(120_000);
    process.stdout.write(`      COPPICE_SEED=${SEED}\n`);
    const [clock, random] = [new ManualClock(), new Random(SEED)];
    const run = async () => {
      await using world = await OneProcessWorld.start(clock, random.fork());
      return await runChaos(world, { clock, random: random.fork(), durationMs: MINUTE_MS, longestThinkMs: 50 });
    };
    const report = await driven(clock, run());
    await assertKept(report, { seed: SEED });
    const { outcomes, faults, relists } = report;
    assert.ok(outcomes.ok > 500, `only ${outcomes.ok} operations were answered`);
    assert.ok(outcomes.unknown > 10, `only ${outcomes.unknown} operations had an unknown outcome`);
    assert.ok(relists > 0, 'no watch had to list again');
    assert.ok(faults.size >= 4, `only ${[...faults.keys()].join()} happened`);
  });
});

import assert from 'node:assert/strict';
import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Random } from '../fuzz/random.ts';
import { needEtcd } from '../harness/etcd-server.ts';
import { EtcdWorld } from './etcd-world.ts';
import { assertKept } from './report.ts';
import { runChaos } from './run-chaos.ts';

const SEED = Number(process.env.COPPICE_SEED ?? Number.parseInt(systemIds.secret(3), 16));
const DURATION_MS = 20_000;

describe('two API servers on an etcd of three members, all of them killed, halted and cut off', () => {
  before(function () {
    needEtcd(this);
  });

  it('keep every promise for twenty seconds, and all is well afterwards', async function () {
    this.timeout(300_000);
    process.stdout.write(`      COPPICE_SEED=${SEED}\n`);
    const random = new Random(SEED);
    await using world = await EtcdWorld.start({ servers: 2, members: 3, controllers: 0 }, random.fork());
    const report = await runChaos(world, { clock, random, durationMs: DURATION_MS });
    await assertKept(report, { seed: SEED });
    assert.ok(report.outcomes.ok > 0, 'nothing was answered');
  });
});

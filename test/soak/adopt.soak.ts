import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BenchVMs } from '../../bench/bench-vms.ts';
import { CoppiceUp } from '../../bench/coppice-up.ts';
import type { BenchWorld } from '../../bench/goal.ts';
import { GuestWorld } from '../../bench/guest-world.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';

const CYCLES = Number(process.env.COPPICE_ADOPTIONS ?? 10);
const HOME = 'home';
const READY = /VM demo\/hello is Ready[\s\S]*up in/;

describe('coppice up, killed and started again over a running guest', () => {
  it(`finds the same guest and makes no other, ${CYCLES} times`, async function () {
    this.timeout(120_000 + CYCLES * 30_000);
    const folder = await mkdtemp(join(tmpdir(), 'coppice-soak-'));
    const world: BenchWorld = {
      clock: systemClock,
      ids: systemIds,
      folder,
      packageRoot: join(import.meta.dirname, '../..'),
      etcd: async () => undefined,
      signal: AbortSignal.timeout(120_000 + CYCLES * 30_000),
    };
    await using held = new AsyncDisposableStack();
    held.defer(() => rm(folder, { recursive: true, force: true }));
    await (await GuestWorld.open(world)).makeHome(HOME);
    const start = () => CoppiceUp.start(world, HOME, ['--driver', 'qemu'], READY);
    held.defer(async () => {
      await using last = new AsyncDisposableStack();
      await new BenchVMs(last.use(await start()).client(last), AbortSignal.timeout(60_000)).removeAll();
    });
    await endOf(await start(), 0);
    const [first] = await guestsOf(join(folder, HOME));
    assert.ok(first !== undefined, 'the quickstart left no guest');
    for (let cycle = 1; cycle <= CYCLES; cycle++) {
      const up = await start();
      assert.deepEqual(await guestsOf(up.home), [first], `cycle ${cycle}`);
      await endOf(up, cycle);
      assert.deepEqual(await guestsOf(up.home), [first], `after the end of cycle ${cycle}`);
    }
  });
});

/** Ends it as Ctrl-C does and as the kernel does, in turn. */
async function endOf(up: CoppiceUp, cycle: number): Promise<void> {
  if (cycle % 2 === 1) {
    const { pid } = JSON.parse(await readFile(join(up.home, 'up.pid'), 'utf8'));
    process.kill(pid, 'SIGKILL');
  }
  await up[Symbol.asyncDispose]();
}

/** The pids of every QEMU that runs from a home. */
async function guestsOf(home: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    // A process may end between the listing and the reading.
    const words = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (words[0]?.includes('qemu-system') && words.some((word) => word.includes(`${home}/hosts/`)))
      found.push(Number(name));
  }
  return found;
}

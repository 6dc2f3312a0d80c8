// How long `coppice version` takes from exec to exit, with no server to ask; goal: under 250 ms. The control is Node.js doing nothing.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROUNDS = 20;
const launcher = fileURLToPath(new URL('../bin/coppice', import.meta.url));

/** Wall times of runs, in milliseconds, fastest first. */
function measure(program: string, args: readonly string[], env: NodeJS.ProcessEnv): number[] {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const began = performance.now();
    const { status, stderr } = spawnSync(program, args, { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
    // The first fills the compile cache.
    if (round > 0) times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b);
}

const home = mkdtempSync(join(tmpdir(), 'coppice-bench-'));
try {
  const env = { PATH: process.env.PATH, HOME: home, COPPICE_HOME: home, NODE_COMPILE_CACHE: join(home, 'cache') };
  const show = (name: string, times: readonly number[]) => {
    const at = (part: number) => (times[Math.floor((times.length - 1) * part)] ?? 0).toFixed(0);
    console.log(`${name}: median ${at(0.5)} ms, fastest ${at(0)} ms, slowest ${at(1)} ms, of ${times.length}`);
  };
  console.log(`${cpus().length} × ${cpus()[0]?.model}, Node.js ${process.versions.node}`);
  show('coppice version', measure(launcher, ['version'], env));
  show('node -e 0', measure(process.execPath, ['-e', '0'], env));
} finally {
  rmSync(home, { recursive: true, force: true });
}

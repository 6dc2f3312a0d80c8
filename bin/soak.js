// `npm run soak`: what `npm test` does in small, for longer; and what takes too long for it. Each part prints its time.
import './check-node.js';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureGuestTools, ensurePackages, fail } from './setup.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const PARTS = [
  { name: 'store, 50 kills', file: 'test/apiserver/store/kill.test.ts', env: { COPPICE_KILLS: '50' } },
  { name: 'nodelet, 500 histories', file: 'test/nodelet/histories.test.ts', env: { COPPICE_HISTORIES: '500' } },
  { name: 'client-go, controller-runtime and Flux', file: 'test/clients/go/full.soak.ts', env: {} },
  {
    name: 'malformed requests, 100,000',
    file: 'test/fuzz/malformed-requests.test.ts',
    env: { COPPICE_FUZZ_REQUESTS: '100000' },
  },
  { name: '1,000 watchers that do not read', file: 'test/apiserver/slow-watchers.soak.ts', env: {} },
  { name: 'coppice up, 10 adoptions', file: 'test/soak/adopt.soak.ts', env: { COPPICE_ADOPTIONS: '10' } },
];

/** The environment wins, so that a part can be made longer yet. */
function run({ file, env }) {
  return new Promise((resolve, reject) => {
    const args = ['--no-config', '--extension', 'ts', '--forbid-only', file];
    const child = spawn(join(root, 'node_modules', '.bin', 'mocha'), args, {
      cwd: root,
      env: { ...env, ...process.env },
      stdio: 'inherit',
    });
    child.on('error', reject);
    child.on('close', resolve);
  });
}

try {
  await ensurePackages(root);
  const missing = await ensureGuestTools();
  const parts = PARTS.filter(({ file }) => missing === undefined || !file.startsWith('test/soak/'));
  if (missing !== undefined)
    console.log(`skipped: what takes real guests, as ${missing.packages} is missing: ${missing.command}`);
  let failed = 0;
  for (const part of parts) {
    const began = performance.now();
    const code = await run(part);
    if (code !== 0) failed++;
    console.log(
      `${part.name}: ${code === 0 ? 'ok' : 'FAILED'}, ${((performance.now() - began) / 1000).toFixed(1)} s\n`,
    );
  }
  process.exit(failed === 0 ? 0 : 1);
} catch (error) {
  fail(error);
}

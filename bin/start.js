// `npm start`: installs what is missing, then runs `coppice up` with the flags it was given. Runs on Node.js 20, which is what a fresh
// Debian has, until the packages have brought 24.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureGuestTools, ensurePackages, fail, nodeFor } from './setup.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const flags = process.argv.slice(2);

/** Whether guests are simulated by choice, so that nothing is needed to run real ones. */
function simulated() {
  return flags.includes('--driver=sim') || flags[flags.indexOf('--driver') + 1] === 'sim';
}

async function prepare() {
  await ensurePackages(root);
  nodeFor(root);
  if (simulated()) return;
  const missing = await ensureGuestTools();
  if (missing === undefined) return;
  console.log(`not installed: ${missing.packages}. Without QEMU and a C compiler VMs are simulated; for real ones:`);
  console.log(`  ${missing.command}`);
}

/** Hands over to the control plane. Ctrl-C reaches it through the terminal, a signal to us alone is passed on. */
function up() {
  const child = spawn(join(root, 'bin', 'coppice'), ['up', ...flags], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', fail);
  child.on('close', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

try {
  await prepare();
} catch (error) {
  fail(error);
}
up();

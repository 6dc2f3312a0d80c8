// `npm test`: types, lint and every suite, the same here and in CI. Each folder of test/ is a suite (of test/cli and test/nodelet each folder in it, as
// real guests take their time) and runs in a process of its own, two at a time; each prints its time. Generated files are compared by the suites themselves.
import './check-node.js';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureEtcd, ensureGuestTools, ensurePackages, fail } from './setup.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const AT_ONCE = 2;
/** A suite that hangs fails instead of holding up the rest. */
const LIMIT_MS = 15 * 60_000;
const totals = { passed: 0, failed: 0, skipped: 0 };

function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(join(root, 'node_modules', '.bin', program), args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    let said = '';
    const keep = (text) => {
      said += text;
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, said }));
  });
}

async function timed(name, work) {
  const began = performance.now();
  const outcome = await work();
  console.log(`${name}: ${outcome}, ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

const check = (name, program, args) => () =>
  timed(name, async () => {
    const { code, said } = await run(program, args);
    totals[code === 0 ? 'passed' : 'failed']++;
    if (code !== 0) console.log(said);
    return code === 0 ? 'ok' : 'FAILED';
  });

const suite = (name, files) => () =>
  timed(`test/${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coppice-gate-'));
    const report = join(folder, 'report.json');
    const options = ['--no-config', '--extension', 'ts', '--timeout', '20000', '--forbid-only'];
    const reporter = ['--reporter', 'json', '--reporter-option', `output=${report}`];
    const { code, said } = await run('mocha', [...options, ...reporter, ...files]);
    const result = readReport(report);
    rmSync(folder, { recursive: true, force: true });
    if (result === undefined) {
      totals.failed++;
      console.log(said);
      return `FAILED before its end (${code})`;
    }
    return count(name, result, code, said);
  });

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function count(name, { stats, failures, pending }, code, said) {
  totals.passed += stats.passes;
  totals.failed += stats.failures;
  totals.skipped += stats.pending;
  for (const failure of failures)
    console.log(`FAILED test/${name}: ${failure.fullTitle}\n${failure.err.stack ?? failure.err.message}`);
  for (const skipped of pending) console.log(`skipped test/${name}: ${skipped.fullTitle}`);
  // What suites say about skips, and why, goes to their stderr.
  for (const line of said.split('\n')) if (/^skip/i.test(line.trim())) console.log(line.trim());
  if (code !== 0 && stats.failures === 0) {
    totals.failed++;
    console.log(`test/${name} ended with ${code} although no test failed\n${said}`);
  }
  return `${stats.passes} passed, ${stats.failures} failed, ${stats.pending} skipped`;
}

/** Begun first, longest first, so that none of them is left running alone at the end. */
const LONG = [
  'nodelet/drivers',
  'clients',
  'cli/serve',
  'cli/up',
  'apiserver',
  'nodelet/images',
  'docs',
  'kubectl',
  'chaos',
  'fuzz',
  'wire',
];
/** Folders whose folders are suites of their own. */
const SPLIT = new Set(['cli', 'nodelet']);

/** Every test once: the files beside the folders of test/ are a suite too. */
function suites() {
  const tests = join(root, 'test');
  const own = { name: 'repository', files: testsIn(tests, false) };
  const folders = foldersIn(tests).flatMap((name) => {
    if (!SPLIT.has(name)) return [{ name, files: testsIn(join(tests, name), true) }];
    const inner = foldersIn(join(tests, name)).map((child) => `${name}/${child}`);
    return [name, ...inner].map((suite) => ({ name: suite, files: testsIn(join(tests, suite), suite !== name) }));
  });
  return [own, ...folders].filter(({ files }) => files.length > 0).sort((a, b) => rank(a.name) - rank(b.name));
}

function rank(name) {
  const at = LONG.indexOf(name);
  return at < 0 ? LONG.length : at;
}

function foldersIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

function testsIn(folder, recursive) {
  return readdirSync(folder, { recursive })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join(folder, file))
    .sort();
}

try {
  await ensurePackages(root);
  const missing = await ensureGuestTools();
  if (missing !== undefined)
    console.log(`not installed: ${missing.packages}. What needs it is skipped; to have it: ${missing.command}`);
  const etcd = await ensureEtcd(root);
  if (etcd !== undefined) console.log(`not installed: etcd. What needs it is skipped; to have it: ${etcd}`);
} catch (error) {
  fail(error);
}
const jobs = [
  check('types', 'tsc', ['--noEmit']),
  check('lint', 'biome', ['check', '--error-on-warnings', '.']),
  ...suites().map(({ name, files }) => suite(name, files)),
];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
  }),
);
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed === 0 ? 0 : 1);

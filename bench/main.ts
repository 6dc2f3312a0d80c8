/**
 * `npm run bench -- [--json] [--rounds N] [--cpu-prof FOLDER] [GOAL…]`: takes the goals named, by number or word, or all of them, and prints each figure beside its
 * control. Nothing is asserted: what is met and what is not is printed, and the exit code is 0 once all was taken.
 */
import { mkdir, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../resources/ambient/system-clock.ts';
import { systemIds } from '../resources/ambient/system-ids.ts';
import { EtcdServer, findEtcd } from '../test/harness/etcd-server.ts';
import { cliStart } from './cli-start.ts';
import { coldStart } from './cold-start.ts';
import { disk } from './disk.ts';
import { exec } from './exec.ts';
import { fanOut } from './fan-out.ts';
import { fleetGoals } from './fleet.ts';
import { get } from './get.ts';
import { type BenchWorld, type Goal, NotMeasured } from './goal.ts';
import { guestStart } from './guest-start.ts';
import { handover } from './handover.ts';
import { MIN_ROUNDS, measure, type Result } from './harness.ts';
import { informer } from './informer.ts';
import { kubectlGet } from './kubectl-get.ts';
import { list } from './list.ts';
import { put } from './put.ts';
import { renderResults, resultRow } from './report.ts';
import { startAgain } from './start-again.ts';
import { storeGoal } from './store-goal.ts';
import { underLoad } from './under-load.ts';

const GOALS: readonly Goal[] = [
  cliStart,
  put,
  storeGoal,
  get,
  list,
  fanOut,
  kubectlGet,
  coldStart,
  disk,
  underLoad,
  informer,
  startAgain,
  guestStart,
  exec,
  handover,

  ...fleetGoals,
];
const RUNS = 3;

const { values, positionals } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: `${MIN_ROUNDS}` },
    'cpu-prof': { type: 'string' },
  },
  allowPositionals: true,
});
const rounds = Math.max(MIN_ROUNDS, Number.parseInt(values.rounds, 10) || MIN_ROUNDS);
const unknown = positionals.filter((word) => !GOALS.some(({ names }) => names.includes(word)));
if (unknown.length > 0) {
  const known = GOALS.map(({ names }) => names.join('/')).join(' ');
  process.stderr.write(`error: there is no goal ${unknown.join(', ')}\nhint: the goals are ${known}\n`);
  process.exit(1);
}
const chosen = GOALS.filter(
  ({ names }) => positionals.length === 0 || names.some((name) => positionals.includes(name)),
);

const ending = new AbortController();
process.once('SIGINT', () => ending.abort(new Error('interrupted')));
let etcd: Promise<EtcdServer> | undefined;
const world: BenchWorld = {
  clock: systemClock,
  ids: systemIds,
  folder: join(tmpdir(), `coppice-bench-${process.pid}`),
  packageRoot: join(import.meta.dirname, '..'),
  async etcd() {
    if (findEtcd() === undefined) return undefined;
    etcd ??= EtcdServer.start({ parent: world.folder });
    return etcd;
  },
  signal: ending.signal,
  profiles: values['cpu-prof'],
  progress: (line) => void process.stderr.write(`  ${line}\n`),
};
const results: Result[] = [];
const notMeasured: { readonly goals: string; readonly why: string }[] = [];
const say = (line: string) => void (values.json ? process.stderr : process.stdout).write(`${line}\n`);
const load = () => loadavg().map((n) => n.toFixed(1));

await mkdir(world.folder, { mode: 0o700 });
const loadBefore = load();
say(`${cpus().length} CPUs, load ${loadBefore.join(' ')}, Node.js ${process.versions.node}, ${rounds} rounds`);
try {
  for (const goal of chosen) {
    ending.signal.throwIfAborted();
    await take(goal);
  }
} finally {
  await (await etcd)?.[Symbol.asyncDispose]();
  await rm(world.folder, { recursive: true, force: true });
}
const loadAfter = load();
if (values.json) {
  const machine = { cpus: cpus().length, node: process.versions.node, loadBefore, loadAfter };
  process.stdout.write(`${JSON.stringify({ machine, rounds, results, notMeasured }, undefined, 2)}\n`);
} else {
  say(`\n${renderResults(results)}\nload ${loadAfter.join(' ')}`);
}
process.exit(0);

async function take(goal: Goal): Promise<void> {
  try {
    await using held = new AsyncDisposableStack();
    for (const contest of await goal.open(world, held)) {
      const result = await measure(contest, { rounds, runs: RUNS });
      results.push(result);
      say(
        resultRow(result)
          .filter((cell) => cell !== '')
          .join('  '),
      );
    }
  } catch (error) {
    if (!(error instanceof NotMeasured)) throw error;
    notMeasured.push({ goals: goal.names.join('/'), why: error.message });
    say(`${goal.names[0]}  not measured: ${error.message}`);
  }
}

/**
 * `npm run chaos -- [--minutes N] [--seed N] [--store etcd|sqlite] [--servers N] [--controllers N]`: clients of real servers while processes are killed, halted and cut off, and what
 * they were told judged at the end. The exit code is 1 when a promise was broken; then the history is in a file.
 * `npm run chaos -- fleet [--minutes N] [--seed N] [--store etcd|sqlite]`: a fleet of which tenants make what the seed says, judged by its invariants at every revision.
 */
import { parseArgs } from 'node:util';
import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Random } from '../fuzz/random.ts';
import { findEtcd } from '../harness/etcd-server.ts';
import { EtcdWorld } from './etcd-world.ts';
import { LoneWorld } from './lone-world.ts';
import { reportLines, writeFailure } from './report.ts';
import { runChaos } from './run-chaos.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Number.parseInt(systemIds.secret(3), 16)) },
    store: { type: 'string', default: 'etcd' },
    servers: { type: 'string', default: '3' },
    controllers: { type: 'string', default: '2' },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
const [servers, controllers] = [Number(values.servers), Number(values.controllers)];
const say = (line: string) => void process.stdout.write(`${line}\n`);
const fail = (message: string, hint: string): never => {
  process.stderr.write(`error: ${message}\nhint: ${hint}\n`);
  process.exit(1);
};
if (!(minutes > 0)) fail(`--minutes is "${values.minutes}"`, 'a number above 0, such as 0.5');
if (!Number.isSafeInteger(seed))
  fail(`--seed is "${values.seed}"`, 'a whole number, such as one that an earlier run printed');
if (!(Number.isInteger(servers) && servers > 0)) fail(`--servers is "${values.servers}"`, 'a whole number above 0');
if (!(Number.isInteger(controllers) && controllers >= 0))
  fail(`--controllers is "${values.controllers}"`, 'a whole number; 0 for none, and no VMs');
if (values.store !== 'etcd' && values.store !== 'sqlite') fail(`--store is "${values.store}"`, 'etcd or sqlite');
if (values.store === 'etcd' && findEtcd() === undefined)
  fail('there is no etcd on this machine', 'install it (Debian: etcd-server), or run with --store sqlite');

const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    say('\nending; what there was so far is judged');
    ending.abort();
    // Whoever asks twice does not want to wait; processes are ended on the way out.
    process.once(signal, () => process.exit(130));
  });
}

const [what, ...more] = positionals;
if ((what !== undefined && what !== 'fleet') || more.length > 0)
  fail(`there is no chaos of ${positionals.join(' ')}`, 'fleet, or nothing for what clients are told');
say(`seed ${seed}, store ${values.store}, ${minutes} minutes`);
if (what === 'fleet') {
  const { fleetChaos } = await import('./fleet-main.ts');
  process.exit(
    await fleetChaos({
      minutes,
      seed,
      store: values.store === 'sqlite' ? 'sqlite' : 'etcd',
      say,
      signal: ending.signal,
    }),
  );
}
const random = new Random(seed);
const { report } = await (async () => {
  await using world = await (values.store === 'etcd'
    ? EtcdWorld.start({ servers, members: 3, controllers }, random.fork())
    : LoneWorld.start());
  return { report: await runChaos(world, { clock, random, durationMs: minutes * 60_000, say, signal: ending.signal }) };
})();
for (const line of reportLines(report)) say(line);
if (report.violations.length > 0) {
  const file = await writeFailure(report, { seed, store: values.store, minutes, servers, controllers });
  say(`history: ${file}\nagain: npm run chaos -- --seed ${seed} --store ${values.store} --minutes ${minutes}`);
}
process.exit(report.violations.length === 0 ? 0 : 1);

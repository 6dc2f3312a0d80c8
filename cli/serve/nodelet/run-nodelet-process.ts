import { hostname } from 'node:os';
import { ServerChoice } from '../../../apiserver/client/server-choice.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Failure } from '../../failure.ts';
import { type Io, printLine } from '../../io.ts';
import { beginServing } from '../begin-serving.ts';
import { type Fleet, openFleet } from '../drivers.ts';
import { checkFaultyHosts } from '../faulty-hosts.ts';
import { unlessInterrupted } from '../unless-interrupted.ts';
import { untilAborted } from '../until-aborted.ts';
import { hostNames, type KnownHost, openIdentities } from './identities.ts';
import { readKept, writeKept } from './kept-nodelet.ts';
import { type NodeletProcessOptions, settled } from './options.ts';
import { startRemoteNodelets } from './remote-nodelets.ts';

const clock = systemClock;
const random = Math.random;

/** Runs the hosts of a home until the signal aborts. Throws a `Failure` when they cannot start; guests run on either way. */
export async function runNodeletProcess(options: NodeletProcessOptions, io: Io, signal: AbortSignal): Promise<void> {
  await unlessInterrupted(serve(options, io, signal), signal);
  printLine(io, '\nstopped; guests keep running');
}

async function serve(options: NodeletProcessOptions, io: Io, signal: AbortSignal): Promise<void> {
  await using held = new AsyncDisposableStack();
  const { home, steps, log, sayUp } = await beginServing(options, io, clock, held);
  const kept = settled(options, readKept(home.path));
  const wanted = hostNames(home, options.tokens);
  // Before any token is used up.
  if (wanted.length > 0) checkFaultyHosts(options.faults, wanted);
  const choice = new ServerChoice(kept.servers, random);
  const known = await steps.step(
    'identity',
    () => openIdentities(home, options.tokens, { servers: choice, clock, random }, signal),
    (hosts) => `${hostsText(hosts)}, of the control plane at ${kept.servers.join(', ')}`,
  );
  writeKept(home.path, kept);
  const names = known.map(({ name }) => name);
  const wish = { driver: kept.driver, simulated: names, real: names[0] ?? '', faults: options.faults };
  const fleet = held.use(
    await steps.step(
      'driver',
      () => openFleet(wish, { home, clock, ids: systemIds, random, log }, signal),
      (opened) => opened.note,
    ),
  );
  checkNumber(fleet, known);
  const instance = { id: systemIds.uid(), where: `${hostname()}:${home.path}, process ${process.pid}` };
  const running = held.use(
    startRemoteNodelets(fleet.hosts, known, { home, instance, servers: kept.servers, clock, random, log }),
  );
  sayUp();
  steps.say('Ctrl-C stops this process and leaves guests running.');
  await Promise.race([untilAborted(signal), running.failed]);
}

function hostsText(hosts: readonly KnownHost[]): string {
  const [first, ...others] = hosts;
  return others.length === 0 ? `host ${first?.name}` : `${hosts.length} hosts, ${first?.name} to ${hosts.at(-1)?.name}`;
}

/** A machine is one host, unless they are simulated. */
function checkNumber(fleet: Fleet, known: readonly KnownHost[]): void {
  if (fleet.kind === 'sim' || known.length === 1) return;
  throw new Failure(
    `this machine is one host, and its home has ${known.length}: ${known.map((h) => h.name).join(', ')}`,
    {
      hint: 'simulate them with --driver sim, or give each a home of its own',
    },
  );
}

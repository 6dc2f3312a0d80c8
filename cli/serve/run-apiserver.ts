import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { type Io, printLine } from '../io.ts';
import { quoted } from '../render/shell-word.ts';
import { beginServing } from './begin-serving.ts';
import type { Home } from './home.ts';
import { forgetLoneLeader } from './lone-leader.ts';
import type { ServerOptions } from './server-options.ts';
import { startServer } from './start-server.ts';
import { stateOf } from './state-of.ts';
import { unlessInterrupted } from './unless-interrupted.ts';
import { untilAborted } from './until-aborted.ts';
import { whileStoreLives } from './while-store-lives.ts';

/** Serves the API until the signal aborts. Throws a `Failure` when it cannot start, and one with exit code 70 when the store is lost. */
export async function runApiserver(options: ServerOptions, io: Io, signal: AbortSignal): Promise<void> {
  await unlessInterrupted(serve(options, io, signal), signal);
  printLine(io, '\nstopped');
}

async function serve(options: ServerOptions, io: Io, signal: AbortSignal): Promise<void> {
  const clock = systemClock;
  await using held = new AsyncDisposableStack();
  const { home, steps, log, sayUp } = await beginServing(options, io, clock, held);
  const started = await steps.step(
    'API server',
    () => startServer({ ...options, home, clock, ids: systemIds, random: Math.random, log, signal }, held),
    ({ name, url }) => `API server ${name} on ${url}, state in ${stateOf(options.store, home)}`,
  );
  await whileStoreLives(started.store.lost, signal, async (ends) => {
    await forgetLoneLeader(started.server);
    sayUp();
    for (const line of nextCommands(home)) steps.say(line);
    await untilAborted(ends);
  });
}

function nextCommands(home: Home): readonly string[] {
  return [
    'next:',
    `  export KUBECONFIG=${quoted(home.kubeconfig)}`,
    '  kubectl get hosts',
    '',
    'Ctrl-C stops this server. Controllers and hosts run elsewhere.',
  ];
}

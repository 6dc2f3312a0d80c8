import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Failure } from '../failure.ts';
import { type Io, printLine } from '../io.ts';
import { quoted } from '../render/shell-word.ts';
import { Steps } from '../up/steps.ts';
import { type Home, openHome } from './home.ts';
import { lockHome } from './lock-home.ts';
import { forgetLoneLeader } from './lone-leader.ts';
import { openLog } from './open-log.ts';
import type { ServerOptions } from './server-options.ts';
import { startServer } from './start-server.ts';
import { stateOf } from './state-of.ts';
import { untilAborted } from './until-aborted.ts';
import { EXIT_STORE_LOST, whileStoreLives } from './while-store-lives.ts';

/** Serves the API until the signal aborts. Throws a `Failure` when it cannot start, and one with exit code 70 when the store is lost. */
export async function runApiserver(options: ServerOptions, io: Io, signal: AbortSignal): Promise<void> {
  try {
    await serve(options, io, signal);
  } catch (error) {
    // Ctrl-C while something was still starting: what was started has been stopped on the way out.
    const lost = error instanceof Failure && error.exitCode === EXIT_STORE_LOST;
    if (lost || !signal.aborted) throw error;
  }
  printLine(io, '\nstopped');
}

async function serve(options: ServerOptions, io: Io, signal: AbortSignal): Promise<void> {
  const clock = systemClock;
  const beganMs = clock.monotonic();
  const steps = new Steps(io, clock);
  await using held = new AsyncDisposableStack();
  const home = openHome(options.home);
  held.use(await lockHome(home));
  const log = openLog(home, io, held);
  const started = await steps.step(
    'API server',
    () => startServer({ ...options, home, clock, ids: systemIds, random: Math.random, log, signal }, held),
    ({ name, url }) => `API server ${name} on ${url}, state in ${stateOf(options.store, home)}`,
  );
  await whileStoreLives(started.store.lost, signal, async (ends) => {
    await forgetLoneLeader(started.server);
    steps.say(`up in ${((clock.monotonic() - beganMs) / 1000).toFixed(1)} s\n`);
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

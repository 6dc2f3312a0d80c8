import type { Clock } from '../../../resources/ambient/clock.ts';
import { withDeadline } from '../../../resources/ambient/with-deadline.ts';
import type { AgentConnection } from '../../agent/agent-connection.ts';
import { orAborted } from '../or-aborted.ts';

interface AgentPulseOptions {
  readonly clock: Clock;
  /** Whether the guest is to be expected to answer: not while it is paused, or nobody knows. */
  expected(): boolean;
  /** The agent has not answered for so many milliseconds. */
  silent(ms: number): void;
  /** It answers again. */
  answers(): void;
}

const BEAT_MS = 10_000;
/** Beats without an answer until the agent counts as silent. */
const SILENT_BEATS = 3;
/** Beats until the session is given up. Late, for its commands end with it: an agent that was started anew never answers in the old session. */
const HOPELESS_BEATS = 15;

/**
 * Asks the agent every ten seconds whether it is there, one question at a time, until the signal aborts. Resolves earlier when it was silent for so long
 * that only another session can help.
 */
export async function watchPulse(
  agent: AgentConnection,
  options: AgentPulseOptions,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await options.clock.sleep(BEAT_MS, signal);
    if (!options.expected()) continue;
    if (!(await answered(agent, options, signal))) return;
  }
}

async function answered(agent: AgentConnection, options: AgentPulseOptions, signal: AbortSignal): Promise<boolean> {
  // An agent that refuses is there; the end of the session aborts the signal.
  const answer = agent.ping(signal).catch(() => {});
  for (let beats = 0; beats < HOPELESS_BEATS; ) {
    const came = await withDeadline(options.clock, BEAT_MS, signal, (s) => orAborted(answer, s)).then(
      () => true,
      () => false,
    );
    signal.throwIfAborted();
    if (came) {
      if (beats >= SILENT_BEATS) options.answers();
      return true;
    }
    // A guest that is paused meanwhile answers when it goes on.
    if (!options.expected()) continue;
    beats += 1;
    if (beats === SILENT_BEATS) options.silent(beats * BEAT_MS);
  }
  return false;
}

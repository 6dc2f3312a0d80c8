import type { ResourceClient } from '../../apiserver/client/client.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { type Condition, findCondition } from '../../resources/meta/condition.ts';
import type { Target } from '../coppice-command.ts';
import { Failure, usage } from '../failure.ts';
import { hostName } from '../host-ref.ts';
import { type Io, printLine, warn } from '../io.ts';
import { openSession } from '../session.ts';
import { HOSTS } from '../vm-ref.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';
import { waitingLines } from './drain-status.ts';

export interface DrainOptions {
  readonly words: readonly string[];
  /** As it is written on the command line. */
  readonly mode: string;
  readonly force: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

type Mode = NonNullable<Host['spec']['drain']>['mode'];

const MODES: Readonly<Record<string, Mode>> = {
  cordon: 'Cordon',
  'evict-ephemeral': 'EvictEphemeral',
  reschedule: 'Reschedule',
};

/** Asks that hosts are drained and, unless told not to, waits until all are. */
export async function drain(io: Io, target: Target, options: DrainOptions): Promise<void> {
  if (options.words.length === 0) throw usage('name the host', 'drain');
  const names = [...new Set(options.words.map((word) => hostName([word], 'drain')))];
  const timeoutMs = durationFlag('timeout', options.timeout);
  await using session = await openSession(io, target);
  const hosts = session.client.resource<Host>(HOSTS);
  const wish = { mode: MODES[options.mode], force: options.force || null };
  // One that is not there, or is named wrongly, is found before any is drained.
  if (names.length > 1) await Promise.all(names.map((name) => hosts.get(name, io.signal)));
  const asked: Host[] = [];
  for (const name of names) {
    asked.push(await hosts.patch(name, { spec: { drain: wish } }, { fieldManager: 'coppice' }, io.signal));
    if (!options.wait) printLine(io, `host.coppice.dev/${name} drain requested`);
  }
  if (options.wait) await allDrained(io, hosts, asked, timeoutMs);
}

/** Those that are not drained in time are all told of. */
async function allDrained(io: Io, hosts: ResourceClient<Host>, asked: readonly Host[], timeoutMs: number) {
  const outcomes = await Promise.allSettled(asked.map((host) => drained(io, hosts, host, timeoutMs)));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  const other = failures.find((failure) => !(failure instanceof Failure));
  if (other !== undefined) throw other;
  const last = failures.pop();
  for (const failure of failures) {
    warn(io, `error: ${failure.message}`);
    if (failure.hint !== undefined) warn(io, `hint: ${failure.hint}`);
  }
  if (last !== undefined) throw last;
}

async function drained(io: Io, hosts: ResourceClient<Host>, asked: Host, timeoutMs: number): Promise<void> {
  const { name } = asked.metadata;
  using deadline = new Deadline(io.signal, timeoutMs === 0 ? undefined : timeoutMs);
  let last: Host | undefined;
  const done = (host: Host | undefined) => {
    if (host === undefined) throw new Failure(`host ${name} was deleted meanwhile`);
    if (host.spec.drain === undefined) throw new Failure(`the drain of ${name} was ended meanwhile`);
    last = host;
    return answerTo(host)?.status === 'True';
  };
  try {
    await watchUntil(hosts, name, done, deadline.signal);
  } catch (error) {
    if (!deadline.passed) throw error;
    throw late(name, last);
  }
  const message = last && answerTo(last)?.message;
  printLine(io, `host.coppice.dev/${name} drained: ${message}`);
}

/** What the controllers say of what is asked now; undefined: nothing yet. */
function answerTo(host: Host): Condition | undefined {
  const said = findCondition(host, 'Drained');
  return (said?.observedGeneration ?? 0) < (host.metadata.generation ?? 0) ? undefined : said;
}

function late(name: string, host: Host | undefined): Failure {
  const said = host && answerTo(host)?.message;
  const lines = host === undefined || said === undefined ? '' : waitingLines(host).trimEnd();
  const waiting = lines === '' ? '' : `\n${lines}`;
  return new Failure(`${name} is not drained yet: ${said ?? 'no controllers have looked at it yet'}${waiting}`, {
    hint: `it goes on; coppice drain-status ${name} tells how far it is, coppice uncordon ${name} ends it`,
  });
}

import type { ResourceClient } from '../../apiserver/client/client.ts';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { confirm } from '../confirm.ts';
import type { Target } from '../coppice-command.ts';
import { Failure } from '../failure.ts';
import { hostName } from '../host-ref.ts';
import { type Io, printLine } from '../io.ts';
import { openSession } from '../session.ts';
import { HOSTS } from '../vm-ref.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

export interface ScrubOptions {
  readonly words: readonly string[];
  readonly force: boolean;
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

type Scrub = NonNullable<NonNullable<Host['status']>['scrub']>;

/** Asks that a host is cleared and, unless told not to, waits for the answer. */
export async function scrubHost(io: Io, target: Target, options: ScrubOptions): Promise<void> {
  const name = hostName(options.words, 'scrub');
  const timeoutMs = durationFlag('timeout', options.timeout);
  await using session = await openSession(io, target);
  const hosts = session.client.resource<Host>(HOSTS);
  const host = await hosts.get(name, io.signal);
  if (options.force && !options.yes) {
    const what = `every VM on ${name}, every guest that has none, and every volume, with what is on them`;
    await confirm(io, { tells: `this deletes ${what}`, asks: `Delete ${what}?`, undone: 'nothing was asked for' });
  }
  const requestedAt = nextInstant(host);
  const scrub = { requestedAt, force: options.force || null };
  await hosts.patch(name, { spec: { scrub } }, { fieldManager: 'coppice' }, io.signal);
  if (!options.wait) return printLine(io, `host.coppice.dev/${name} scrub requested`);
  await answer(io, hosts, name, requestedAt, timeoutMs);
}

/** Later than any before, whatever the clocks say: requests are told apart by it. */
function nextInstant({ spec, status }: Host): string {
  const before = [spec.scrub?.requestedAt, status?.scrub?.requestedAt].map((at) => Date.parse(at ?? '') + 1000);
  return rfc3339(Math.max(systemClock.now(), ...before.filter((ms) => !Number.isNaN(ms))));
}

async function answer(
  io: Io,
  hosts: ResourceClient<Host>,
  name: string,
  requestedAt: string,
  timeoutMs: number,
): Promise<void> {
  using deadline = new Deadline(io.signal, timeoutMs === 0 ? undefined : timeoutMs);
  let last: Scrub | undefined;
  const answered = (host: Host | undefined) => {
    if (host === undefined) throw new Failure(`host ${name} was deleted meanwhile`);
    last = ours(host, requestedAt);
    if (last === undefined && host.spec.scrub?.requestedAt !== requestedAt)
      throw new Failure(`another scrub of ${name} was asked for meanwhile`);
    return last !== undefined && last.outcome !== 'Running' && (last.outcome !== 'Waiting' || isHeldUp(last));
  };
  try {
    await watchUntil(hosts, name, answered, deadline.signal);
  } catch (error) {
    if (!deadline.passed) throw error;
    throw new Failure(`${name} is not scrubbed yet: ${progress(last)}`, {
      hint: 'it goes on; --timeout says how long to wait',
    });
  }
  if (last !== undefined && isHeldUp(last)) {
    const hint = 'it stays asked for, and goes on when they do not stand in its way any more';
    throw new Failure(`${name} is not scrubbed: ${progress(last)}`, { hint });
  }
  if (last?.outcome !== 'Succeeded') throw failure(name, last);
  printLine(io, `host.coppice.dev/${name} scrubbed${countsOf(last)}`);
}

/** By volumes, which are kept for days: to wait for them is not what whoever asks wants. */
const isHeldUp = ({ outcome, volumesInTheWay = [] }: Scrub): boolean =>
  outcome === 'Waiting' && volumesInTheWay.length > 0;

function ours(host: Host, requestedAt: string): Scrub | undefined {
  const scrub = host.status?.scrub;
  return scrub?.requestedAt === requestedAt ? scrub : undefined;
}

function progress(scrub: Scrub | undefined): string {
  if (scrub === undefined) return 'no controllers have looked at it yet';
  return scrub.message ?? (scrub.outcome === 'Running' ? 'it is being cleared' : 'it waits');
}

function failure(name: string, scrub: Scrub | undefined): Failure {
  const said = scrub?.clearing?.hook?.output ?? '';
  const output = said === '' ? '' : `\n${said}`;
  const verb = scrub?.outcome === 'Refused' ? 'the scrub is refused' : 'the scrub failed';
  return new Failure(`${name}: ${verb}: ${scrub?.message ?? 'nobody said why'}${output}`);
}

function countsOf({ clearing }: Scrub): string {
  const counts = [
    [clearing?.guestsRemoved ?? 0, 'guests'],
    [clearing?.workspacesRemoved ?? 0, 'workspaces'],
    [clearing?.volumesRemoved ?? 0, 'volumes'],
  ] as const;
  const told = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what} removed`);
  return told.length === 0 ? '' : ` (${told.join(', ')})`;
}

import { systemClock } from '../../resources/ambient/system-clock.ts';
import { confirm } from '../confirm.ts';
import type { Target } from '../coppice-command.ts';
import { Exit, Failure, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { LEASES, type LeaseView, leaseName } from '../lease-ref.ts';
import { conditionOf } from '../render/conditions.ts';
import { openSession } from '../session.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

interface LeaseReleaseOptions {
  readonly words: readonly string[];
  readonly at: string | undefined;
  readonly force: boolean;
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** The server rounds what is due now to the next second. */
const DUE_SOON_MS = 5_000;

/** Asks that a lease ends and, where that is now, waits until it has: its VMs are gone and its host is let go. */
export async function releaseLease(io: Io, target: Target, options: LeaseReleaseOptions): Promise<void> {
  const timeoutMs = durationFlag('timeout', options.timeout);
  const name = leaseName(options.words, 'lease release');
  const { at, force } = options;
  if (at !== undefined && force) throw usage('--force is now, so it goes without --at', 'lease release');
  if (at !== undefined && Number.isNaN(Date.parse(at)))
    throw new Failure(`--at ${at} is not an instant`, { hint: 'such as 2026-12-24T18:00:00Z' });
  if (!options.yes) {
    const how = force ? 'now, whatever its minimum' : (at ?? 'now, which is refused before its minimum is over');
    await confirm(io, {
      tells: `this ends lease ${name} (${how}) and deletes the VMs on its host`,
      asks: `End lease ${name} (${how}), and delete the VMs on its host?`,
      undone: 'nothing was released',
    });
  }
  await using session = await openSession(io, target);
  const leases = session.client.resource<LeaseView>(LEASES, session.namespace);
  // What an earlier release asked for does not hold any more.
  const release = { at: at ?? null, force: force ? true : null };
  const asked = await leases.patch(name, { spec: { release } }, { fieldManager: 'coppice' }, io.signal);
  const endsMs = Date.parse(asked.status?.endsAt ?? '');
  if (endsMs - systemClock.now() > DUE_SOON_MS) {
    printLine(io, `lease.coppice.dev/${name} ends at ${asked.status?.endsAt}`);
    return;
  }
  if (!options.wait) {
    printLine(io, `lease.coppice.dev/${name} is released`);
    return;
  }
  using deadline = new Deadline(io.signal, timeoutMs);
  let last: LeaseView | undefined = asked;
  const isOver = (lease: LeaseView | undefined) => lease === undefined || lease.status?.phase === 'Ended';
  try {
    const ended = await watchUntil(leases, name, isOver, deadline.signal, (seen) => {
      last = seen;
    });
    const billed = ended?.status?.billedUntil;
    printLine(io, `lease.coppice.dev/${name} ended${billed === undefined ? '' : `, billed until ${billed}`}`);
  } catch (error) {
    if (!deadline.passed) throw error;
    warn(io, `error: lease ${name} has not ended within ${options.timeout}`);
    const ready = conditionOf(last, 'Ready');
    if (ready !== undefined) warn(io, `hint: ${ready.reason}: ${ready.message}`);
    throw new Exit(1);
  }
}

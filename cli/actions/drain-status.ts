import type { Host } from '../../resources/kinds/host.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import type { Target } from '../coppice-command.ts';
import { hostName } from '../host-ref.ts';
import { type Io, printLine } from '../io.ts';
import { renderJson } from '../render/json.ts';
import { alignColumns } from '../render/table.ts';
import { openSession } from '../session.ts';
import { HOSTS } from '../vm-ref.ts';

/** Tells how far the drain of a host is. */
export async function drainStatus(io: Io, target: Target, words: readonly string[], json: boolean): Promise<void> {
  const name = hostName(words, 'drain-status');
  await using session = await openSession(io, target);
  const host = await session.client.resource<Host>(HOSTS).get(name, io.signal);
  if (json) io.stdout.write(renderJson(facts(host)));
  else print(io, host);
}

/** What is asked, what came of it, and what the controllers say of it. */
function facts(host: Host) {
  const drained = findCondition(host, 'Drained');
  return {
    host: host.metadata.name,
    ...(host.spec.drain === undefined ? {} : { drain: host.spec.drain }),
    ...(host.status?.drain === undefined ? {} : { progress: host.status.drain }),
    ...(drained === undefined ? {} : { drained }),
  };
}

function print(io: Io, host: Host): void {
  const { name } = host.metadata;
  if (host.spec.drain === undefined) {
    const cordoned = host.spec.cordoned === true ? '; it is cordoned' : '';
    printLine(io, `host.coppice.dev/${name} is not being drained${cordoned}`);
    return;
  }
  const progress = host.status?.drain;
  const drained = findCondition(host, 'Drained');
  const rows = [
    ['Host', name],
    ['Mode', host.spec.drain.mode],
    ['Since', progress?.startedAt ?? 'no controllers have looked at it yet'],
    ['Drained', drained === undefined ? 'Unknown' : `${drained.status} (${drained.reason}): ${drained.message}`],
  ];
  const counts = [
    ['Going', String(progress?.evicting ?? 0)],
    ['Moving', String(progress?.rescheduling ?? 0)],
    ['Staying', String(progress?.kept ?? 0)],
  ];
  io.stdout.write(alignColumns([...rows, ...(progress === undefined ? [] : counts)]));
  const waiting = progress?.waiting ?? [];
  if (waiting.length > 0) io.stdout.write(`\n${waitingLines(host)}`);
}

/** A line for each VM that cannot go yet. */
export function waitingLines({ status }: Host): string {
  return alignColumns(
    (status?.drain?.waiting ?? []).map(({ vm, reason }) => [`${vm} waits:`, reason]),
    1,
  );
}

import type { Host } from '../../resources/kinds/host.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import type { Target } from '../coppice-command.ts';
import { hostName } from '../host-ref.ts';
import { type Io, printLine } from '../io.ts';
import { listAll } from '../list-all.ts';
import { renderJson } from '../render/json.ts';
import { alignColumns, renderTable } from '../render/table.ts';
import { openSession } from '../session.ts';
import { HOSTS } from '../vm-ref.ts';

/** Tells how far the drains of hosts are; where none is named, of all that are drained. */
export async function drainStatus(io: Io, target: Target, words: readonly string[], json: boolean): Promise<void> {
  const names = words.map((word) => hostName([word], 'drain-status'));
  await using session = await openSession(io, target);
  const hosts = session.client.resource<Host>(HOSTS);
  const [first, ...others] = await Promise.all(names.map((name) => hosts.get(name, io.signal)));
  if (first === undefined) return tellAll(io, (await listAll(hosts, {}, io.signal)).items, json);
  if (json) return void io.stdout.write(renderJson(others.length === 0 ? facts(first) : [first, ...others].map(facts)));
  print(io, first);
  for (const host of others) {
    printLine(io, '');
    print(io, host);
  }
}

function tellAll(io: Io, hosts: readonly Host[], json: boolean): void {
  const draining = hosts.filter(({ spec }) => spec.drain !== undefined);
  if (json) {
    io.stdout.write(renderJson(draining.map(facts)));
    return;
  }
  if (draining.length === 0) {
    printLine(io, 'no host is being drained');
    return;
  }
  const rows = draining.map((host) => {
    const { evicting = 0, rescheduling = 0, kept = 0 } = host.status?.drain ?? {};
    const drained = findCondition(host, 'Drained');
    return [
      ...[host.metadata.name, host.spec.drain?.mode ?? '', drained?.status ?? 'Unknown'],
      ...[evicting, rescheduling, kept].map(String),
      drained?.message ?? 'no controllers have looked at it yet',
    ];
  });
  io.stdout.write(renderTable(['Host', 'Mode', 'Drained', 'Going', 'Moving', 'Staying', ''], rows));
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

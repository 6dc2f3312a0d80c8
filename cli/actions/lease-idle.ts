import { systemClock } from '../../resources/ambient/system-clock.ts';
import { humanDuration } from '../../resources/meta/duration.ts';
import type { Target } from '../coppice-command.ts';
import { type Io, printLine } from '../io.ts';
import { LEASES, type LeaseView } from '../lease-ref.ts';
import { listAll } from '../list-all.ts';
import { conditionOf } from '../render/conditions.ts';
import { renderJson } from '../render/json.ts';
import { outputOf } from '../render/output.ts';
import { renderTable } from '../render/table.ts';
import { renderYaml } from '../render/yaml.ts';
import { openSession } from '../session.ts';

/** A lease that is paid for while no VM of its lessee is on its host. */
interface IdleLease {
  readonly namespace: string;
  readonly name: string;
  readonly host: string;
  readonly set?: string;
  readonly idleSince: string;
  readonly pricePerHour: string;
  readonly currency: string;
  /** What the time since then cost, to the cent. */
  readonly cost: string;
  /** When it can be released; absent: it ends at `endsAt` by itself. */
  readonly releasableAt?: string;
  readonly endsAt?: string;
}

/** Prints the leases whose hosts have no VM, those that cost most first. */
export async function idleLeases(
  io: Io,
  target: Target,
  { output, allNamespaces }: { readonly output: string | undefined; readonly allNamespaces: boolean },
): Promise<void> {
  await using session = await openSession(io, target);
  const leases = session.client.resource<LeaseView>(LEASES, allNamespaces ? undefined : session.namespace);
  const { items } = await listAll(leases, {}, io.signal);
  const nowMs = systemClock.now();
  const idle = items
    .flatMap((lease) => idleOf(lease, nowMs))
    .sort((a, b) => Number(b.cost) - Number(a.cost) || (a.name < b.name ? -1 : 1));
  const form = outputOf(io, output);
  if (form === 'json') return void io.stdout.write(renderJson({ items: idle }));
  if (form === 'yaml') return void io.stdout.write(renderYaml({ items: idle }));
  if (form === 'name') {
    for (const { name } of idle) printLine(io, `lease.coppice.dev/${name}`);
    return;
  }
  if (idle.length === 0) return printLine(io, 'No lease is idle.');
  const headers = [
    ...(allNamespaces ? ['Namespace'] : []),
    'Name',
    'Set',
    'Host',
    'Idle',
    'Price/h',
    'Cost',
    'Can end',
  ];
  const rows = idle.map((each) => [
    ...(allNamespaces ? [each.namespace] : []),
    each.name,
    each.set ?? '<none>',
    each.host,
    humanDuration(nowMs - Date.parse(each.idleSince)),
    `${each.pricePerHour} ${each.currency}`,
    each.cost,
    canEnd(each, nowMs),
  ]);
  io.stdout.write(renderTable(headers, rows));
}

function idleOf(lease: LeaseView, nowMs: number): readonly IdleLease[] {
  const { metadata, status = {} } = lease;
  const use = conditionOf(lease, 'InUse');
  if (status.phase !== 'Active' || use?.status !== 'False') return [];
  const { host = '', pricePerHour = '0', currency = '', endsAt, earliestEnd } = status;
  const set = metadata.labels?.['coppice.dev/lease-set'];
  return [
    {
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      host,
      ...(set === undefined ? {} : { set }),
      idleSince: use.since,
      pricePerHour,
      currency,
      cost: costOf(pricePerHour, nowMs - Date.parse(use.since)),
      ...(endsAt === undefined ? {} : { endsAt }),
      ...(endsAt !== undefined || earliestEnd === undefined ? {} : { releasableAt: earliestEnd }),
    },
  ];
}

const HOUR_MS = 3_600_000n;
const PLACES = 6;

/** What so long costs at a price for an hour, rounded to two places once. */
function costOf(perHour: string, ms: number): string {
  const [whole = '0', part = ''] = perHour.split('.');
  const micros = BigInt(whole + part.slice(0, PLACES).padEnd(PLACES, '0'));
  const cents = (micros * BigInt(Math.max(0, Math.round(ms))) + HOUR_MS * 5_000n) / (HOUR_MS * 10_000n);
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}

function canEnd({ endsAt, releasableAt }: IdleLease, nowMs: number): string {
  const inTime = (at: string) => {
    const ms = Date.parse(at) - nowMs;
    return ms <= 0 ? 'now' : `in ${humanDuration(ms)}`;
  };
  if (endsAt !== undefined) return `ends ${inTime(endsAt)}`;
  return releasableAt === undefined ? '' : inTime(releasableAt);
}

import { counted } from '../../resources/meta/counted.ts';
import { roughBytes } from '../../resources/meta/quantity.ts';
import { percent, planMoves, type RebalanceLimits, type RebalancePlan } from '../../resources/placement/rebalance.ts';
import type { Target } from '../coppice-command.ts';
import { Failure, usage } from '../failure.ts';
import { type Io, printLine } from '../io.ts';
import { readFleet } from '../read-fleet.ts';
import { renderJson } from '../render/json.ts';
import { alignColumns, renderTable } from '../render/table.ts';
import { openSession } from '../session.ts';

interface RebalanceOptions {
  readonly dryRun: boolean;
  /** As it was written. */
  readonly highWater: string;
  readonly maxMoves: number;
  readonly json: boolean;
}

/** Prints which VMs would have to be started elsewhere so that no host is too full. Changes nothing. */
export async function rebalance(io: Io, target: Target, options: RebalanceOptions): Promise<void> {
  if (!options.dryRun) {
    throw usage(
      'rebalance only plans, and wants to be told so: add --dry-run; there is no mode that moves',
      'rebalance',
    );
  }
  const limits = { highWater: partOf(options.highWater), maxMoves: options.maxMoves };
  await using session = await openSession(io, target);
  const fleet = await readFleet(session.client, io.signal);
  if (fleet === undefined) {
    throw new Failure('rebalance looks at the whole fleet, which is for operators', {
      hint: "use an operator's credentials, with --kubeconfig or --context",
    });
  }
  const plan = planMoves(fleet.world, limits);
  if (options.json) io.stdout.write(renderJson({ ...limits, ...plan }));
  else printPlan(io, plan, limits);
}

function partOf(text: string): number {
  const part = /^\d*\.?\d+$/.test(text) ? Number(text) : 0;
  if (part > 0 && part <= 1) return part;
  throw usage(`--high-water ${text} is not a part such as 0.85, above 0 and up to 1`, 'rebalance');
}

function printPlan(io: Io, { hosts, moves, left }: RebalancePlan, { highWater }: RebalanceLimits): void {
  const mark = percent(highWater);
  const rows = hosts.map(({ host, memoryBytes, beforeBytes, afterBytes }) => [
    host,
    roughBytes(memoryBytes),
    percent(beforeBytes / memoryBytes),
    percent(afterBytes / memoryBytes),
  ]);
  if (rows.length > 0) io.stdout.write(`${renderTable(['Host', 'Memory', 'Held', 'Then'], rows)}\n`);
  if (moves.length > 0) {
    const lines = moves.map(({ vm, from, to, memoryBytes, how }) => [vm, roughBytes(memoryBytes), from, to, how]);
    io.stdout.write(`${renderTable(['VM', 'Memory', 'From', 'To', 'How'], lines)}\n`);
  }
  if (left.length > 0) {
    io.stdout.write(`${alignColumns(left.map(({ host, message }) => [`${host} stays above ${mark}:`, message], 1))}\n`);
  }
  printLine(io, verdict(moves.length, left.length, mark));
}

function verdict(moves: number, left: number, mark: string): string {
  if (moves > 0) {
    const vms = counted(moves, 'VM');
    return `To follow it, ${vms} would have to be deleted and made again, disks included, with the host it leaves cordoned meanwhile. To move all of a host that may go: coppice drain HOST --mode reschedule. Nothing was changed.`;
  }
  if (left > 0) return 'Nothing is proposed: no move would help.';
  return `Nothing is proposed: no host is above ${mark}.`;
}

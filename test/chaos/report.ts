import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operationLine } from './history.ts';
import type { ChaosReport } from './run-chaos.ts';
import type { Violation } from './violation.ts';

const SHOWN = 10;

/** What a run came to, in lines for people. */
export function reportLines({
  outcomes,
  faults,
  elapsedMs,
  longestSilence,
  relists,
  work,
  violations,
}: ChaosReport): readonly string[] {
  const { ok, refused, unknown } = outcomes;
  const seconds = elapsedMs / 1000;
  const happened = [...faults].map(([name, count]) => `${name} ${count}`).join(', ');
  return [
    `${seconds.toFixed(1)} s, ${((ok + refused + unknown) / seconds).toFixed(0)} operations a second`,
    `${ok} ok, ${refused} refused, ${unknown} of unknown outcome; ${relists} watches listed again`,
    ...work,
    `faults: ${happened || 'none'}`,
    `longest time without any answer: ${(longestSilence.ms / 1000).toFixed(1)} s, from ${(longestSilence.sinceMs / 1000).toFixed(1)} s on`,
    violations.length === 0 ? 'every promise was kept' : `${violations.length} VIOLATIONS`,
    ...violations.slice(0, SHOWN).map(({ rule, message }) => `  ${rule}: ${message}`),
    ...(violations.length > SHOWN ? [`  and ${violations.length - SHOWN} more`] : []),
  ];
}

/**
 * Writes everything needed to look into a run that failed: what was broken, the operations that show it as lines, and the whole history. Answers where.
 */
export async function writeFailure(
  report: ChaosReport,
  how: { readonly seed: number } & Readonly<Record<string, unknown>>,
): Promise<string> {
  const file = join(tmpdir(), `coppice-chaos-${how.seed}.json`);
  const byId = new Map(report.operations.map((operation) => [operation.id, operation]));
  const shown = (violation: Violation) => ({
    ...violation,
    operations: violation.operations.flatMap((id) => byId.get(id) ?? []).map(operationLine),
  });
  const { operations, violations } = report;
  await writeFile(
    file,
    `${JSON.stringify({ ...how, violations: violations.map(shown), history: operations }, undefined, 1)}\n`,
  );
  return file;
}

/** For tests: throws with what was broken and where the history is. */
export async function assertKept(report: ChaosReport, how: { readonly seed: number }): Promise<void> {
  if (report.violations.length === 0) return;
  const file = await writeFailure(report, how);
  throw new Error([...reportLines(report), `history: ${file}`].join('\n'));
}

import { operationLine } from './history.ts';
import type { ChaosReport } from './run-chaos.ts';
import type { Violation } from './violation.ts';

const SHOWN = 10;

/** What a run came to, in lines for people. */
export function reportLines({
  outcomes,
  faults,
  elapsedMs,
  longestSilenceMs,
  relists,
  violations,
}: ChaosReport): readonly string[] {
  const { ok, refused, unknown } = outcomes;
  const seconds = elapsedMs / 1000;
  const happened = [...faults].map(([name, count]) => `${name} ${count}`).join(', ');
  return [
    `${seconds.toFixed(1)} s, ${((ok + refused + unknown) / seconds).toFixed(0)} operations a second`,
    `${ok} ok, ${refused} refused, ${unknown} of unknown outcome; ${relists} watches listed again`,
    `faults: ${happened || 'none'}`,
    `longest time without any answer: ${(longestSilenceMs / 1000).toFixed(1)} s`,
    violations.length === 0 ? 'every promise was kept' : `${violations.length} VIOLATIONS`,
    ...violations.slice(0, SHOWN).map(({ rule, message }) => `  ${rule}: ${message}`),
    ...(violations.length > SHOWN ? [`  and ${violations.length - SHOWN} more`] : []),
  ];
}

/** Everything needed to look into a run that failed: what was broken, the operations that show it as lines, and the whole history. */
export function failureFile(report: ChaosReport, how: Readonly<Record<string, unknown>>): string {
  const shown = (violation: Violation) => ({
    ...violation,
    operations: violation.operations
      .flatMap((id) => report.operations.find((each) => each.id === id) ?? [])
      .map(operationLine),
  });
  return `${JSON.stringify({ ...how, violations: report.violations.map(shown), history: report.operations }, undefined, 1)}\n`;
}

import type { Result, Verdict } from './harness.ts';

const HEADS = ['GOAL', 'MEASURE', 'OURS', 'CONTROL', 'RATIO', 'MUST', 'GREAT'] as const;

/** One line of cells a result, for people. */
export function resultRow(result: Result): readonly string[] {
  const { goal, title, unit, figures, controlTitle, ratio, must, great } = result;
  const { ours, control } = figures;
  return [
    goal,
    title,
    shown(ours, unit),
    control === undefined ? '' : `${shown(control, unit)} (${controlTitle})`,
    ratio === undefined ? '' : `${ratio.toFixed(2)}x`,
    verdictText(must, result.isVoid),
    verdictText(great, result.isVoid),
  ];
}

/** A table of the results, columns as wide as their widest cell. */
export function renderResults(results: readonly Result[]): string {
  const rows = [HEADS, ...results.map(resultRow)];
  const widths = HEADS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function shown(value: number, unit: string): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${Number(value.toFixed(digits))} ${unit}`.trim();
}

function verdictText(verdict: Verdict | undefined, isVoid: boolean): string {
  if (verdict === undefined) return '';
  if (isVoid) return `${verdict.text}: void`;
  return `${verdict.text}: ${verdict.met ? 'met' : 'NOT met'}`;
}

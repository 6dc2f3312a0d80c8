import { divided, exactMoney, type Micros } from './money.ts';
import type { PriceRange } from './price-range.ts';

const HOUR_MS = 3_600_000;
const WEEK_MS = 168n * 3_600_000n;

/** Time in a week, all replicas together, and what an hour of one costs. */
export interface WeekTerm {
  /** Milliseconds. */
  readonly weekly: number;
  readonly range: PriceRange;
}

/** What it costs an hour, on average, at the least price. */
export function weekCost(term: WeekTerm | undefined): Micros {
  return term === undefined ? 0n : divided(term.range.least * BigInt(Math.round(term.weekly)), WEEK_MS);
}

/** The sum to check by hand: `228 h × 0.85 / 168 h a week`, of a change `(288 h × 0.85 - 228 h × 0.85) / 168 h a week`. */
export function weekText(is: WeekTerm | undefined, was: WeekTerm | undefined): string {
  if (is !== undefined && was !== undefined) return `(${timesText(is)} - ${timesText(was)}) / 168 h a week`;
  if (is !== undefined) return `${timesText(is)} / 168 h a week`;
  return was === undefined ? '' : `-${timesText(was)} / 168 h a week`;
}

function timesText({ weekly, range }: WeekTerm): string {
  return `${Math.round((weekly / HOUR_MS) * 100) / 100} h × ${exactMoney(range.least)}`;
}

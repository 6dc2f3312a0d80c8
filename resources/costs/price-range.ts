import { exactMoney, type Micros } from './money.ts';

/** Between what an hour costs; no `most` where that is not known. */
export interface PriceRange {
  readonly least: Micros;
  readonly most: Micros | undefined;
}

/** From the least to the most of some prices; undefined without any. */
export function rangeOf(rates: readonly Micros[]): PriceRange | undefined {
  const sorted = rates.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const [least] = sorted;
  return least === undefined ? undefined : { least, most: sorted.at(-1) };
}

/** Whether it is one price. */
export function isOne({ least, most }: PriceRange): boolean {
  return least === most;
}

/** `0.85`, `0.85 to 1.4` or `0.85 or more`. */
export function rangeText(range: PriceRange): string {
  const least = exactMoney(range.least);
  if (range.most === undefined) return `${least} or more`;
  return isOne(range) ? least : `${least} to ${exactMoney(range.most)}`;
}

/** Millionths of the unit of a currency: all sums are of these, and nothing is rounded on the way. */
export type Micros = bigint;

const UNIT = 1_000_000n;
const PER_CENT = 10_000n;
const HOUR_MS = 3_600_000n;

/** An amount as a price list has it, such as `0.85`; absent is nothing. Throws where it is no amount. */
export function parseMicros(text: string | undefined): Micros {
  const match = /^([0-9]{1,9})(?:\.([0-9]{1,6}))?$/.exec(text ?? '0');
  if (match?.[1] === undefined) throw new RangeError(`${text} is not an amount`);
  return BigInt(match[1]) * UNIT + BigInt((match[2] ?? '').padEnd(6, '0'));
}

/** What some time comes to at a price an hour; half a millionth and more counts as one. */
export function forTime(perHour: Micros, ms: number): Micros {
  return divided(perHour * BigInt(Math.round(ms)), HOUR_MS);
}

/** The nearest whole quotient; halves go away from zero. The divisor is positive. */
export function divided(dividend: bigint, divisor: bigint): bigint {
  const half = divisor / 2n;
  return dividend < 0n ? -((-dividend + half) / divisor) : (dividend + half) / divisor;
}

/** To the millionth: `0.85`, `-12.5`, `3`. */
export function exactMoney(amount: Micros): string {
  const size = amount < 0n ? -amount : amount;
  const fraction = String(size % UNIT)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${size / UNIT}${fraction === '' ? '' : `.${fraction}`}`;
}

/** For people, to the hundredth; what is less than that is told to the millionth, as it would look like nothing. */
export function roughMoney(amount: Micros): string {
  const size = amount < 0n ? -amount : amount;
  if (size > 0n && size < PER_CENT) return exactMoney(amount);
  const cents = divided(size, PER_CENT);
  return `${amount < 0n ? '-' : ''}${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}

/** What an hour costs, for people: to the hundredth of a hundredth, so that sums can be checked by it; less than that to the millionth. */
export function hourMoney(amount: Micros): string {
  const size = amount < 0n ? -amount : amount;
  if (size < PER_CENT / 100n) return size === 0n ? roughMoney(0n) : exactMoney(amount);
  const [whole = '', fraction = ''] = exactMoney(divided(amount, 100n) * 100n).split('.');
  return `${whole}.${fraction.padEnd(2, '0')}`;
}

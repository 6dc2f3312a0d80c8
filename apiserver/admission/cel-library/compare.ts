import { isObject } from '../../../resources/meta/object.ts';

/** Whether two values of rules are the same. Numbers of different types are compared by what they count. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNumeric(a) && isNumeric(b)) return a <= b && a >= b;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameValue(item, b[i]));
  if (hasText(a) && hasText(b)) return a.constructor === b.constructor && String(a) === String(b);
  return isObject(a) && isObject(b) && sameFields(a, b);
}

const isNumeric = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';

/** Addresses, URLs and durations, whose texts tell them apart. */
const hasText = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  value.constructor !== undefined &&
  value.constructor !== Object &&
  value.toString !== Object.prototype.toString;

function sameFields(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameValue(a[name], b[name]))
  );
}

/** Values that have an order. */
export type Comparable = number | bigint | string | boolean | Date | Uint8Array | { valueOf(): number | bigint };

/** Below, at or above 0, as `a` is before, the same as or after `b`. */
export function order(a: Comparable, b: Comparable): number {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

import { isObject } from '../../resources/meta/object.ts';

/** The same value with the keys of every object in the order Go writes them: by their UTF-8 bytes. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort(byCodePoint)
      .map((key) => [key, sortKeys(value[key])]),
  );
}

/** The order of UTF-8 bytes is that of code points; JavaScript's own order is not, above U+FFFF. */
export function byCodePoint(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

import { byCodePoint } from '../../resources/meta/code-point.ts';
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

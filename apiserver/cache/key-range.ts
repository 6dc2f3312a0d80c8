import type { StoredObject } from './stored-object.ts';

/** `/` ends a namespace in a key; this is the character after it. */
const AFTER_SLASH = '0';

/** The part of a list in key order that is in a namespace (undefined: all) and comes after a key (undefined: from the first). */
export function keyRange(
  objects: readonly StoredObject[],
  namespace: string | undefined,
  after: string | undefined,
): readonly StoredObject[] {
  let from = namespace === undefined ? 0 : firstNotBelow(objects, `${namespace}/`);
  const to = namespace === undefined ? objects.length : firstNotBelow(objects, `${namespace}${AFTER_SLASH}`);
  // No key lies between a key and itself with a NUL behind it.
  if (after !== undefined) from = Math.max(from, firstNotBelow(objects, `${after}\0`));
  return from === 0 && to === objects.length ? objects : objects.slice(from, to);
}

function firstNotBelow(objects: readonly StoredObject[], key: string): number {
  let low = 0;
  let high = objects.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((objects[middle] as StoredObject).key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

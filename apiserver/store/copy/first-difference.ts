import type { KeyValue } from './fill-store.ts';

/** Where two states differ. */
interface Difference {
  readonly key: string;
  /** `extra`: only the second has it. */
  readonly how: 'missing' | 'extra' | 'changed';
}

/** The first key in which a copy differs from what it is of, or undefined when they are the same. Both come in key order. */
export async function firstDifference(
  original: AsyncIterable<readonly KeyValue[]>,
  copy: AsyncIterable<readonly KeyValue[]>,
): Promise<Difference | undefined> {
  const [ours, theirs] = [singly(original), singly(copy)];
  try {
    for (;;) {
      const [a, b] = await Promise.all([ours.next(), theirs.next()]);
      if (a.done === true) return b.done === true ? undefined : { key: b.value.key, how: 'extra' };
      if (b.done === true || a.value.key < b.value.key) return { key: a.value.key, how: 'missing' };
      if (b.value.key < a.value.key) return { key: b.value.key, how: 'extra' };
      if (!sameBytes(a.value.value, b.value.value)) return { key: a.value.key, how: 'changed' };
    }
  } finally {
    await Promise.all([ours.return(undefined), theirs.return(undefined)]);
  }
}

async function* singly(pages: AsyncIterable<readonly KeyValue[]>): AsyncGenerator<KeyValue> {
  for await (const page of pages) yield* page;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

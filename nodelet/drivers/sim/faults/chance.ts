/**
 * Numbers from 0 up to 1 that are the same for the same seed and names, whatever else was drawn: what comes to one host does not depend on what came to
 * others, nor on the order.
 */
export function chanceOf(seed: number, ...names: readonly (string | number)[]): () => number {
  let state = hash(`${seed}\n${names.join('\n')}`);
  return () => {
    // Mulberry32: 32 bits of state, one multiplication more than nothing.
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** FNV-1a over UTF-16 code units, and mixed once more: seeds that differ by one are to share nothing. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

const SUFFIXES: Record<string, number> = {
  '': 1,
  k: 1000,
  M: 1000 ** 2,
  G: 1000 ** 3,
  T: 1000 ** 4,
  P: 1000 ** 5,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
  Pi: 1024 ** 5,
};
/** The largest first. */
const BINARY = Object.entries(SUFFIXES)
  .filter(([suffix]) => suffix.endsWith('i'))
  .reverse();

/** Bytes of a quantity such as `128Mi`. Undefined when it is not one, or beyond 2^53. */
export function parseBytes(text: string): number | undefined {
  const match = /^([0-9]{1,18})([KMGTP]i|[kMGTP])?$/.exec(text);
  const factor = SUFFIXES[match?.[2] ?? ''];
  if (match?.[1] === undefined || factor === undefined) return undefined;
  // What is rounded in between is beyond the limit before and after.
  const bytes = Number(match[1]) * factor;
  return bytes > Number.MAX_SAFE_INTEGER ? undefined : bytes;
}

/** The shortest exact form with a binary suffix: 134217728 → `128Mi`. */
export function formatBytes(bytes: number): string {
  for (const [suffix, factor] of BINARY) {
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${suffix}`;
  }
  return String(bytes);
}

/** For people: `31.3Gi`. */
export function roughBytes(bytes: number): string {
  for (const [suffix, factor] of BINARY) {
    if (bytes >= factor) return `${Number((bytes / factor).toFixed(1))}${suffix}`;
  }
  return String(bytes);
}

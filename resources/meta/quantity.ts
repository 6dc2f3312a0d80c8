const SUFFIXES: Record<string, bigint> = {
  '': 1n,
  k: 1000n,
  M: 1000n ** 2n,
  G: 1000n ** 3n,
  T: 1000n ** 4n,
  P: 1000n ** 5n,
  Ki: 1024n,
  Mi: 1024n ** 2n,
  Gi: 1024n ** 3n,
  Ti: 1024n ** 4n,
  Pi: 1024n ** 5n,
};

/** Bytes of a quantity such as `128Mi`. Undefined when it is not one, or beyond 2^53. */
export function parseBytes(text: string): number | undefined {
  const match = /^([0-9]{1,18})([KMGTP]i|[kMGTP])?$/.exec(text);
  const factor = SUFFIXES[match?.[2] ?? ''];
  if (match?.[1] === undefined || factor === undefined) return undefined;
  const bytes = BigInt(match[1]) * factor;
  return bytes > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(bytes);
}

/** The shortest exact form with a binary suffix: 134217728 → `128Mi`. */
export function formatBytes(bytes: number): string {
  for (const suffix of ['Pi', 'Ti', 'Gi', 'Mi', 'Ki']) {
    const factor = Number(SUFFIXES[suffix]);
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${suffix}`;
  }
  return String(bytes);
}

/** For people: `31.3Gi`. */
export function roughBytes(bytes: number): string {
  for (const suffix of ['Pi', 'Ti', 'Gi', 'Mi', 'Ki']) {
    const factor = Number(SUFFIXES[suffix]);
    if (bytes >= factor) return `${Number((bytes / factor).toFixed(1))}${suffix}`;
  }
  return String(bytes);
}

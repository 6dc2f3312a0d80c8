/** Better versions first: stable, then beta, then alpha, the higher number first; anything else after them by name (kubernetes.io, "Version priority"). */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [precedence(a), precedence(b)];
  for (const [i, value] of left.entries()) {
    const other = right[i] ?? 0;
    if (value !== other) return other - value;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function precedence(version: string): readonly [stability: number, major: number, minor: number] {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(version);
  if (match === null) return [0, 0, 0];
  const stability = match[2] === undefined ? 3 : match[2] === 'beta' ? 2 : 1;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}

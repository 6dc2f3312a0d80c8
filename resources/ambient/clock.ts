/** Time, handed in. Every wait takes a signal; every test may own the clock. */
export interface Clock {
  /** Milliseconds since the Unix epoch (wall time). */
  now(): number;
  /** Milliseconds on a clock that never goes back; only differences mean anything. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; the returned function cancels it. The timer does not keep a process alive. */
  after(ms: number, run: () => void): () => void;
}

let latest = { second: Number.NaN, text: '' };

/** An instant as Kubernetes writes it: RFC 3339, UTC, whole seconds. Writes by the thousand are of the same second, so the last one is kept. */
export function rfc3339(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== latest.second) latest = { second, text: `${new Date(second * 1000).toISOString().slice(0, 19)}Z` };
  return latest.text;
}

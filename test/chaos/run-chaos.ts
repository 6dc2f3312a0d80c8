import type { Clock } from '../../resources/ambient/clock.ts';
import type { Random } from '../fuzz/random.ts';
import { ChaosClient } from './chaos-client.ts';
import { ChaosWatcher } from './chaos-watcher.ts';
import type { ChaosWorld } from './chaos-world.ts';
import { checkHistory } from './check-history.ts';
import { type Operation, type Outcome, Recorder } from './history.ts';
import { plague } from './nemesis.ts';
import type { Violation } from './violation.ts';

interface ChaosOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly durationMs: number;
  readonly clients?: number;
  /** Between two operations of a client, in milliseconds. */
  readonly longestThinkMs?: number;
  /** Told when faults begin and end. */
  readonly say?: (line: string) => void;
  /** Ends the run early; what there was until then is judged. */
  readonly signal?: AbortSignal;
}

export interface ChaosReport {
  readonly operations: readonly Operation[];
  readonly outcomes: Readonly<Record<Outcome, number>>;
  readonly faults: ReadonlyMap<string, number>;
  readonly elapsedMs: number;
  readonly longestSilence: { readonly ms: number; readonly sinceMs: number };
  readonly relists: number;
  /** What else went on, in words. */
  readonly work: readonly string[];
  readonly violations: readonly Violation[];
}

const CLIENTS = 5;
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
/** After the last fault everything must work again within this. */
const RECOVERY_MS = 60_000;
const TRY_AGAIN_MS = 200;

/**
 * Clients write, read, list and watch while faults come and go; then all faults end, everything must become available, everything is read once more
 * at every server, every watch comes to the end, and the history is judged.
 */
export async function runChaos(world: ChaosWorld, options: ChaosOptions): Promise<ChaosReport> {
  const { clock, random, durationMs, clients: count = CLIENTS, longestThinkMs = 20, say = () => {} } = options;
  const recorder = new Recorder(clock);
  const shared = { servers: world.servers, recorder, clock };
  const clients = Array.from(
    { length: count },
    (_, id) => new ChaosClient({ ...shared, id, keys: KEYS, longestThinkMs, random: random.fork() }),
  );
  const watchers = clients.map((_, id) => new ChaosWatcher({ ...shared, id, random: random.fork() }));
  const over = new AbortController();
  const late = new AbortController();
  const stop = clock.after(durationMs, () => over.abort());
  const interrupted = () => over.abort();
  options.signal?.addEventListener('abort', interrupted, { once: true });
  try {
    const watching = watchers.map((watcher) => watcher.run(late.signal));
    const working = [...clients.map((client) => client.run(over.signal)), world.work?.run(over.signal)];
    const faults = await plague(
      world,
      { clock, random: random.fork(), say: (line) => say(`${(recorder.elapsedMs() / 1000).toFixed(1)} s: ${line}`) },
      over.signal,
    );
    const recovered = clock.monotonic() + RECOVERY_MS;
    const giveUp = clock.after(RECOVERY_MS, () => late.abort(new Error('not available again')));
    await Promise.all(working);
    const missing = await readEverything(world, clients, watchers, { clock, deadline: recovered });
    const longestSilence = recorder.longestSilence();
    const [broken = []] = await Promise.all([world.work?.settle(late.signal), ...watching]);
    giveUp();
    const last = Math.max(...watchers.map(({ target }) => target));
    const behind = watchers
      .filter(({ position }) => position < last)
      .map(({ position }, id) => `the watch of client ${id} came to ${position} of ${last}`);
    return {
      ...report(recorder, faults, watchers, [...missing, ...behind], broken),
      longestSilence,
      work: world.work?.lines() ?? [],
    };
  } finally {
    stop();
    options.signal?.removeEventListener('abort', interrupted);
    over.abort();
    late.abort();
  }
}

/** Reads every key and lists at every server until that is answered, and lets the watches end at what was found; says what was not. */
async function readEverything(
  { servers }: ChaosWorld,
  clients: readonly ChaosClient[],
  watchers: readonly ChaosWatcher[],
  { clock, deadline }: { clock: Clock; deadline: number },
): Promise<readonly string[]> {
  const [client] = clients as readonly [ChaosClient];
  const missing: string[] = [];
  const again = async (what: string, read: () => Promise<boolean>) => {
    while (!(await read())) {
      if (clock.monotonic() > deadline) {
        missing.push(what);
        return;
      }
      await clock.sleep(TRY_AGAIN_MS);
    }
  };
  let version = 0;
  for (const server of servers.keys()) {
    await again(`server ${server} does not list`, async () => {
      version = (await client.list(server, true)) ?? 0;
      return version > 0;
    });
    for (const key of KEYS) await again(`server ${server} does not answer`, () => client.get(key, server));
  }
  for (const watcher of watchers) watcher.finishAt(version);
  return missing;
}

function report(
  recorder: Recorder,
  faults: ReadonlyMap<string, number>,
  watchers: readonly ChaosWatcher[],
  missing: readonly string[],
  broken: readonly Violation[],
): Omit<ChaosReport, 'work' | 'longestSilence'> {
  const { operations } = recorder;
  const outcomes = { ok: 0, refused: 0, unknown: 0 };
  for (const { outcome, kind } of operations) if (kind !== 'watch') outcomes[outcome] += 1;
  const unavailable = missing.map((message): Violation => ({ rule: 'not available again', message, operations: [] }));
  return {
    operations,
    outcomes,
    faults,
    elapsedMs: recorder.elapsedMs(),
    relists: watchers.reduce((sum, { relists }) => sum + relists, 0),
    violations: [...unavailable, ...broken, ...checkHistory(recorder)],
  };
}

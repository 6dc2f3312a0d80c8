import type { Host } from '../../resources/kinds/host.ts';
import { counted } from '../../resources/meta/counted.ts';
import { parseDuration } from '../../resources/meta/duration.ts';
import { firstOf } from '../../resources/meta/first-of.ts';
import { type Driver, DriverError, type ObservedGuest, type ObservedVolume } from '../drivers/driver.ts';
import type { StoreGuard } from '../store-guard.ts';
import type { Clearing, ScrubFile } from './scrub-file.ts';
import type { HookRun, ScrubHook } from './scrub-hook.ts';

export interface ClearDeps {
  readonly driver: Driver;
  readonly store: Pick<StoreGuard, 'check'>;
  readonly file: Pick<ScrubFile, 'read' | 'write'>;
  readonly hook: Pick<ScrubHook, 'run'>;
  /** The Host as the server has it now. */
  readonly fetchHost: (signal: AbortSignal) => Promise<Host | undefined>;
  /** Whether what is in the file of a volume was given up. */
  readonly volumeGone: (id: string) => boolean;
  /** Whether VMs are bound here still, or something is being done to a guest. */
  readonly isBusy: () => boolean;
  readonly nowText: () => string;
}

/** A removal may bring to light what was hidden behind it. */
const ROUNDS = 3;
const NAMES_SHOWN = 3;
const DEFAULT_HOOK_MS = 600_000;

type Answer = Omit<Clearing, 'at'>;

/**
 * Clears the host: guests, if that is forced; whatever is left of any; the files of volumes, those that nobody gave up only if that is forced; then the operator's hook. Answers what came of it, and has filed that. Undefined: not now. Ends in the same
 * place however often it is cut off and begun again. The store must be trusted and still say so: what it is told by is a copy, and maybe an old one.
 */
export async function clearHost(host: Host, deps: ClearDeps, signal: AbortSignal): Promise<Clearing | undefined> {
  const scrub = host.status?.scrub;
  const now = await deps.fetchHost(signal);
  if (scrub === undefined || now?.metadata.uid !== host.metadata.uid || !isSame(now, scrub.requestedAt))
    return undefined;
  if (!(await deps.store.check(signal)).trusted || deps.isBusy()) return undefined;
  const { requestedAt } = scrub;
  const { uid } = host.metadata;
  const before = await deps.file.read();
  const sameHost = before?.uid === uid ? before : undefined;
  if (sameHost?.requestedAt === requestedAt) return await repeated(sameHost.clearing, deps, signal);
  const answer =
    sameHost !== undefined && Date.parse(sameHost.requestedAt) > Date.parse(requestedAt)
      ? failed(
          `a later scrub, of ${sameHost.requestedAt}, was done here before, so the store was put back; ask for another`,
        )
      : await answerOf(scrub, deps, signal);
  const clearing = { ...answer, at: deps.nowText() };
  await deps.file.write({ uid, requestedAt, clearing });
  return clearing;
}

type Scrub = NonNullable<NonNullable<Host['status']>['scrub']>;

function isSame(host: Host, requestedAt: string): boolean {
  const scrub = host.status?.scrub;
  return scrub?.outcome === 'Running' && scrub.requestedAt === requestedAt && scrub.clearing === undefined;
}

/** The server was not told of what was done, or has forgotten it. */
async function repeated(clearing: Clearing, deps: ClearDeps, signal: AbortSignal): Promise<Clearing> {
  if (clearing.result !== 'Cleared') return clearing;
  const guests = await deps.driver.list(signal);
  const volumes = await deps.driver.volumes(signal);
  if (guests.length + volumes.length === 0) return clearing;
  const has = guests.length > 0 ? guestsText(guests) : volumesText(volumes);
  const message = `it was scrubbed for this request at ${clearing.at}, and has ${has} since; ask for another`;
  return { ...failed(message), at: deps.nowText() };
}

async function answerOf(scrub: Scrub, deps: ClearDeps, signal: AbortSignal): Promise<Answer> {
  const { driver, hook } = deps;
  const guests = await driver.list(signal);
  if (guests.length > 0 && scrub.forced !== true) {
    const message = `${guestsText(guests)} on the host; --force removes what remains`;
    return { result: 'Refused', message, guestsRemoved: 0, workspacesRemoved: 0 };
  }
  const kept = (await driver.volumes(signal)).filter(({ id }) => !deps.volumeGone(id));
  if (kept.length > 0 && scrub.forced !== true) {
    const message = `${volumesText(kept)} that nobody gave up on the host; --force removes what remains`;
    return { result: 'Refused', message, guestsRemoved: 0, workspacesRemoved: 0 };
  }
  const counts: Counts = { guestsRemoved: 0, workspacesRemoved: 0 };
  try {
    await removeAll(scrub, driver, counts, signal);
    await removeVolumes(driver, counts, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { ...counts, result: 'Failed', message: error instanceof Error ? error.message : String(error) };
  }
  const timeoutMs = parseDuration(scrub.hookTimeout ?? '') ?? DEFAULT_HOOK_MS;
  return { ...counts, ...hookAnswer(await hook.run(scrub.requestedAt, timeoutMs, signal)) };
}

interface Counts {
  guestsRemoved: number;
  workspacesRemoved: number;
  volumesRemoved?: number;
}

/** What could have stood in the way was asked for before. */
async function removeVolumes(driver: Driver, counts: Counts, signal: AbortSignal): Promise<void> {
  for (const { id } of await driver.volumes(signal)) {
    await driver.removeVolume(id, signal);
    counts.volumesRemoved = (counts.volumesRemoved ?? 0) + 1;
  }
}

async function removeAll(scrub: Scrub, driver: Driver, counts: Counts, signal: AbortSignal): Promise<void> {
  for (let round = 1; ; round++) {
    for (const guest of scrub.forced === true ? await driver.list(signal) : []) {
      await driver.remove(guest.id, signal);
      counts.guestsRemoved++;
    }
    try {
      counts.workspacesRemoved += await driver.clear(signal);
      return;
    } catch (error) {
      const hidden = error instanceof DriverError && (await driver.list(signal)).length > 0;
      if (!hidden || scrub.forced !== true || round === ROUNDS) throw error;
    }
  }
}

function hookAnswer(run: HookRun | undefined): Pick<Answer, 'result' | 'message' | 'hook'> {
  if (run === undefined) return { result: 'Cleared' };
  const { report, failure } = run;
  return failure === undefined
    ? { result: 'Cleared', hook: { ...report } }
    : { result: 'Failed', message: failure, hook: { ...report } };
}

function failed(message: string): Answer {
  return { result: 'Failed', message, guestsRemoved: 0, workspacesRemoved: 0 };
}

function volumesText(volumes: readonly ObservedVolume[]): string {
  const ids = volumes.map(({ id }) => id).sort();
  return `${counted(ids.length, 'volume file')} (${firstOf(ids, NAMES_SHOWN)})`;
}

function guestsText(guests: readonly ObservedGuest[]): string {
  const labels = guests.map(({ label }) => label).sort();
  const shown = [...labels.slice(0, NAMES_SHOWN), ...(labels.length > NAMES_SHOWN ? ['…'] : [])].join(', ');
  return `${counted(guests.length, 'guest')} (${shown})`;
}

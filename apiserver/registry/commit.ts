import type { Ids } from '../../resources/ambient/ids.ts';
import { slowWaits } from '../../resources/ambient/slow-waits.ts';
import type { Asker, Change, FenceKeys } from '../../resources/guards/guard.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { type CompanionWrite, type Kind, storedIn } from '../../resources/meta/define-kind.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { Term } from '../../resources/meta/term-header.ts';
import { LongWork } from '../admission/long-work.ts';
import { storeKey } from '../cache/keys.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Caller } from '../requests/server-request.ts';
import type { StagedTxn, Store, TxnRequest, TxnResult } from '../store/store.ts';
import type { FenceRefresh } from './fence-refresh.ts';
import { comparesOf, termOver } from './fencing-term.ts';
import { inSlices } from './in-slices.ts';
import { type RaceDeps, RaceTurn } from './race-turn.ts';
import { refusedBy } from './refused.ts';
import { asApiError, fromStore } from './store-failure.ts';
import { toStorage, viewOf } from './versions.ts';

/** An object and the revision it stands at. */
export interface Versioned {
  readonly object: KubeObject;
  readonly revision: number;
}

/** What came of a write. */
interface Outcome {
  readonly object: KubeObject;
  /** Its encoding, where it was written. */
  readonly bytes?: Uint8Array;
}

/** One write, thought out on the state of this moment. `after` undefined removes. `after === before` writes nothing, unless it is sealed with a key that is on its way out. */
export interface WritePlan {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly before: Versioned | undefined;
  readonly after: KubeObject | undefined;
  readonly subresource?: string;
  /** Objects whose revision the write relies on, such as the Namespace of a create. */
  readonly relies?: readonly { readonly key: string; readonly revision: number }[];
  /** What is put in the same transaction, told where and as what the object is stored. `key` is compared on its revision, and is one of what is put. */
  readonly record?: {
    readonly key: string;
    readonly revision: number;
    puts(at: string, stored: Uint8Array): TxnRequest['puts'];
  };
}

interface CommitDeps extends RaceDeps {
  readonly ids: Ids;
  readonly refresh: FenceRefresh;
  /** Writes happen only while it lasts. */
  readonly term?: Term;
}

const MAX_FENCES = 8;
const MAX_OBJECTS = 40;

/**
 * The write loop (design §3, rulings 12-17). `plan` thinks on the cache plus the writes in flight; nothing waits between thinking and
 * submitting, so writes of this process never race each other. A race lost to another process is thought out again behind others that lost
 * it, for at most five seconds. Before a guard's refusal is final, a fence of its is bumped and seen in the cache, so that a lagging cache
 * cannot refuse what an acknowledged delete made room for. No answer rests on a write in flight that is undone later.
 *
 * What a write is judged by on its first try may be old where several servers write to one store: a write that rests on nothing but the objects
 * it compares goes to the store all the same, which knows. All else is judged once every acknowledged write is in the cache.
 *
 * Answers the object as written (undefined: removed), or as it stands when there was nothing to write. A dry run of a create has no
 * resourceVersion.
 */
export async function commit(
  deps: CommitDeps,
  plan: () => WritePlan,
  options: { readonly dryRun: boolean; readonly caller: Caller; readonly asker: Asker },
): Promise<Outcome | undefined> {
  await using turn = new RaceTurn(deps, options.caller);
  const { asker } = options;
  let refreshed = false;
  for (;;) {
    const verdict =
      (options.dryRun ? undefined : atOnce(deps, plan, asker)) ?? (await caughtUp(deps, plan, asker, turn));
    if (verdict.type === 'work') {
      await inSlices(verdict.work, turn.signal);
    } else if (verdict.type === 'refused' && !refreshed && !options.dryRun && verdict.fence !== undefined) {
      refreshed = true;
      await fromStore(deps.refresh.refresh(verdict.fence, turn.signal));
    } else if (verdict.type === 'refused') {
      if (await deps.cache.confirmed()) throw verdict.error;
    } else if (verdict.type === 'nothing') {
      if (await deps.cache.confirmed()) return { object: verdict.object };
    } else if (options.dryRun) {
      if (await deps.cache.confirmed()) return withoutVersion(verdict.write);
    } else {
      const { staged, answer, compares } = submit(deps, verdict.write, verdict.fences, asker);
      const result = await settled(deps, staged, options.caller);
      if (result.ok) return answer(result.revision);
      await turn.lost(compares, result.found);
    }
  }
}

/** What comes of a plan on what is at hand; undefined where that may be too old to say. */
function atOnce(deps: CommitDeps, plan: () => WritePlan, asker: Asker): Verdict | undefined {
  const { cache } = deps;
  const isCaughtUp = cache.isCaughtUp;
  const asked = cache.world.questions;
  const verdict = judge(deps, plan, asker);
  return isCaughtUp || (verdict.type === 'write' && cache.world.questions === asked) ? verdict : undefined;
}

async function caughtUp(deps: CommitDeps, plan: () => WritePlan, asker: Asker, turn: RaceTurn): Promise<Verdict> {
  await deps.cache.caughtUp(turn.signal);
  return judge(deps, plan, asker);
}

type Verdict =
  | { readonly type: 'refused'; readonly error: ApiError; readonly fence?: string | undefined }
  | { readonly type: 'work'; readonly work: LongWork }
  | { readonly type: 'nothing'; readonly object: KubeObject }
  | { readonly type: 'write'; readonly write: WritePlan; readonly fences: FenceKeys };

/** What comes of a plan on the state of this moment. */
function judge({ cache, term, clock }: CommitDeps, plan: () => WritePlan, asker: Asker): Verdict {
  cache.dropUndone();
  const over = termOver(term, cache);
  if (over !== undefined) return { type: 'refused', error: over };
  let write: WritePlan;
  try {
    write = plan();
  } catch (error) {
    if (error instanceof ApiError) return { type: 'refused', error };
    if (error instanceof LongWork) return { type: 'work', work: error };
    throw error;
  }
  if (write.after !== undefined && write.after === write.before?.object && !cache.codec.isBehind(write.after))
    return { type: 'nothing', object: write.after };
  const change: Change = { before: write.before?.object, after: write.after, ...subresource(write) };
  const fences = fencesOf(write.kind, change, cache);
  const error = refusedBy(write.kind.rules.guards ?? [], write, change, cache.world, { nowMs: clock.now(), asker });
  return error === undefined ? { type: 'write', write, fences } : { type: 'refused', error, fence: fences.bump[0] };
}

/** The object a dry run answers: a new one has no version. */
function withoutVersion({ before, after }: WritePlan): Outcome | undefined {
  if (after === undefined) return undefined;
  if (before !== undefined) return { object: after };
  const { resourceVersion: _, ...metadata } = after.metadata;
  return { object: { ...after, metadata: metadata as KubeObject['metadata'] } };
}

function subresource(write: WritePlan): { subresource?: string } {
  return write.subresource === undefined ? {} : { subresource: write.subresource };
}

function fencesOf(kind: Kind, change: Change, cache: WatchCache): FenceKeys {
  const bump = new Set<string>();
  const compare = new Set<string>();
  for (const guard of kind.rules.guards ?? []) {
    const keys = guard.fences(change, cache.world);
    for (const key of keys.bump) bump.add(key);
    for (const key of keys.compare) compare.add(key);
  }
  if (bump.size + compare.size > MAX_FENCES)
    throw new Error(`a write touches ${bump.size + compare.size} fences; at most ${MAX_FENCES}`);
  return { bump: [...bump], compare: [...compare].filter((key) => !bump.has(key)) };
}

interface Submitted {
  readonly staged: StagedTxn;
  readonly compares: TxnRequest['compares'];
  answer(revision: number): Outcome | undefined;
}

function submit(deps: CommitDeps, write: WritePlan, fences: FenceKeys, asker: Asker): Submitted {
  const { cache, store } = deps;
  const companions = companionsOf(deps, write, asker);
  const home = storedIn(write.kind);
  const key = storeKey(home, write.namespace, write.name);
  const kept = write.after && toStorage(write.kind, write.after);
  const value = kept && cache.codec.encode(home, key, kept);
  const own = { key, resource: home, object: kept, revision: write.before?.revision ?? 0 };
  const writes = [own, ...companions];
  const { record } = write;
  const request: TxnRequest = {
    compares: [
      ...(record === undefined ? [] : [{ key: record.key, revision: record.revision }]),
      ...writes.map(({ key: at, revision }) => ({ key: at, revision })),
      ...(write.relies ?? []).filter((rely) => !writes.some((w) => w.key === rely.key)),
      ...[...fences.bump, ...fences.compare].map((fence) => ({ key: fence, revision: cache.fence(fence) })),
      ...comparesOf(deps.term),
    ],
    puts: [
      ...(value === undefined ? [] : [{ key, value }]),
      ...companions.flatMap(({ key: at, resource, object }) =>
        object === undefined ? [] : [{ key: at, value: cache.codec.encode(resource, at, object) }],
      ),
      ...fences.bump.map((fence) => ({ key: fence, value: new Uint8Array() })),
      ...(record === undefined || value === undefined ? [] : record.puts(key, value)),
    ],
    deletes: writes.filter((w) => w.object === undefined).map((w) => w.key),
  };
  const staged = submitTxn(store, request);
  cache.submitted(staged.done);
  if (staged.staged !== undefined) {
    const at = staged.staged;
    cache.world.assume(home, objectKey(write), kept && atRevision(kept, at), at);
    for (const c of companions) cache.world.assume(c.resource, c.objectKey, c.object && atRevision(c.object, at), at);
    for (const fence of fences.bump) cache.assumeFence(fence, at);
    if (record !== undefined) cache.assumeFence(record.key, at);
  }
  return {
    staged,
    compares: request.compares,
    answer: (revision) => value && viewOf(write.kind, cache.codec.decode(key, value, revision)),
  };
}

/** The object as it reads at a revision. */
function atRevision(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

interface CompanionPut {
  readonly key: string;
  readonly objectKey: string;
  readonly resource: CompanionWrite['resource'];
  readonly object: KubeObject | undefined;
  readonly revision: number;
}

function companionsOf(deps: CommitDeps, write: WritePlan, asker: Asker): CompanionPut[] {
  const context = { world: deps.cache.world, nowMs: deps.clock.now(), asker };
  const wanted = write.kind.rules.companions?.(write.after, write.before?.object, context) ?? [];
  if (wanted.length >= MAX_OBJECTS)
    throw new Error(`a write has ${wanted.length} companions; at most ${MAX_OBJECTS - 1}`);
  return wanted.map((companion) => {
    const there = currentOf(deps.cache, companion.resource, companion.namespace, companion.name);
    const made = companion.object;
    const object =
      made !== undefined && made.metadata.uid === ''
        ? { ...made, metadata: { ...made.metadata, uid: deps.ids.uid(), generation: 1 } }
        : made;
    return {
      key: storeKey(companion.resource, companion.namespace, companion.name),
      objectKey: objectKey(companion),
      resource: companion.resource,
      object,
      revision: there?.revision ?? 0,
    };
  });
}

/** An object as it stands: a write in flight counts. */
export function currentOf(
  cache: WatchCache,
  resource: { readonly group: string; readonly plural: string },
  namespace: string | undefined,
  name: string,
): Versioned | undefined {
  const key = objectKey({ name, namespace });
  const assumed = cache.world.assumed(resource, key);
  if (assumed !== undefined) return assumed.object && { object: assumed.object, revision: assumed.revision };
  const stored = cache.resource(resourceId(resource)).get(key);
  return stored && { object: stored.object, revision: stored.revision };
}

function submitTxn(store: Store, request: TxnRequest): StagedTxn {
  try {
    return store.txn(request);
  } catch (error) {
    throw asApiError(error);
  }
}

/** The outcome of a submitted write. A request that ends first is told that it does not know. */
async function settled({ clock }: CommitDeps, staged: StagedTxn, caller: Caller): Promise<TxnResult> {
  try {
    return await slowWaits(clock).unlessGone(staged.done, caller);
  } catch (error) {
    const { signal } = caller;
    if (!signal.aborted || error !== signal.reason) throw asApiError(error);
    const message = 'the store has not answered yet: the write may or may not happen';
    throw new ApiError('Timeout', message, { cause: error });
  }
}

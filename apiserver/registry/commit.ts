import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Change, FenceKeys } from '../../resources/guards/guard.ts';
import { ApiError, forbidden, invalid } from '../../resources/meta/api-error.ts';
import type { CompanionWrite, Kind } from '../../resources/meta/define-kind.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import { storeKey } from '../cache/keys.ts';
import { encodeStored } from '../cache/stored-object.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { type StagedTxn, type Store, StoreError, type TxnRequest, type TxnResult } from '../store/store.ts';

/** An object and the revision it stands at. */
export interface Versioned {
  readonly object: KubeObject;
  readonly revision: number;
}

/** One write, thought out on the state of this moment. `after` undefined removes. `after === before` writes nothing. */
export interface WritePlan {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly before: Versioned | undefined;
  readonly after: KubeObject | undefined;
  readonly subresource?: string;
  /** Objects whose revision the write relies on, such as the Namespace of a create. */
  readonly relies?: readonly { readonly key: string; readonly revision: number }[];
}

export interface CommitDeps {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly ids: Ids;
}

const MAX_FENCES = 8;
const MAX_OBJECTS = 40;
const RACE_DEADLINE_MS = 5_000;

/**
 * The write loop (design §3, rulings 12-17). `plan` thinks on the cache plus the writes in flight; nothing waits between thinking and
 * submitting, so writes of this process never race each other. A race lost to another process is thought out again, for at most five
 * seconds. Before a guard's refusal is final, its fences are bumped and seen in the cache, so that a lagging cache cannot refuse
 * what an acknowledged delete made room for.
 *
 * Answers the object as written (undefined: removed), or as it stands when there was nothing to write.
 */
export async function commit(
  deps: CommitDeps,
  plan: () => WritePlan,
  options: { readonly dryRun: boolean; readonly signal: AbortSignal },
): Promise<KubeObject | undefined> {
  const started = deps.clock.monotonic();
  let refreshed = false;
  for (;;) {
    const write = plan();
    if (write.after !== undefined && write.after === write.before?.object) return write.after;
    const change: Change = { before: write.before?.object, after: write.after, ...subresource(write) };
    const fences = fencesOf(write.kind, change, deps.cache);
    const refusal = refusalOf(write, change, deps.cache);
    if (refusal !== undefined) {
      if (refreshed || fences.bump.length === 0) throw refusal;
      refreshed = true;
      await refresh(deps, fences.bump, options.signal);
      continue;
    }
    if (options.dryRun) return write.after;
    const submitted = submit(deps, write, fences);
    const result = await settled(deps, submitted.staged);
    if (result.ok) return submitted.answer(result.revision);
    if (deps.clock.monotonic() - started > RACE_DEADLINE_MS) throw busy();
    await catchUp(deps, result.found, options.signal);
  }
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

function refusalOf(write: WritePlan, change: Change, cache: WatchCache): ApiError | undefined {
  for (const guard of write.kind.rules.guards ?? []) {
    const refusal = guard.judge(change, cache.world);
    if (refusal === undefined) continue;
    if (refusal.answer === 'Invalid') {
      return invalid(write.kind, write.name, [
        { reason: refusal.cause, message: refusal.message, field: refusal.field },
      ]);
    }
    return forbidden(write.kind, write.name, refusal.message, { reason: refusal.cause, message: refusal.message });
  }
  return undefined;
}

interface Submitted {
  readonly staged: StagedTxn;
  answer(revision: number): KubeObject | undefined;
}

function submit(deps: CommitDeps, write: WritePlan, fences: FenceKeys): Submitted {
  const { cache, store } = deps;
  const companions = companionsOf(deps, write);
  const key = storeKey(write.kind, write.namespace, write.name);
  const writes = [{ key, object: write.after, revision: write.before?.revision ?? 0 }, ...companions];
  const request: TxnRequest = {
    compares: [
      ...writes.map(({ key: at, revision }) => ({ key: at, revision })),
      ...(write.relies ?? []).filter((rely) => !writes.some((w) => w.key === rely.key)),
      ...[...fences.bump, ...fences.compare].map((fence) => ({ key: fence, revision: cache.fence(fence) })),
    ],
    puts: [
      ...writes.flatMap(({ key: at, object }) =>
        object === undefined ? [] : [{ key: at, value: encodeStored(object) }],
      ),
      ...fences.bump.map((fence) => ({ key: fence, value: new Uint8Array() })),
    ],
    deletes: writes.filter((w) => w.object === undefined).map((w) => w.key),
  };
  const staged = submitTxn(store, request);
  if (staged.staged !== undefined) {
    const at = staged.staged;
    cache.world.assume(write.kind, objectKey(write), write.after && atRevision(write.after, at), at);
    for (const c of companions) cache.world.assume(c.resource, c.objectKey, c.object && atRevision(c.object, at), at);
    for (const fence of fences.bump) cache.assumeFence(fence, at);
  }
  return { staged, answer: (revision) => write.after && atRevision(write.after, revision) };
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

function companionsOf(deps: CommitDeps, write: WritePlan): CompanionPut[] {
  const context = { world: deps.cache.world, nowMs: deps.clock.now() };
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
  const stored = cache.resource(resourceIdOf(resource)).get(key);
  return stored && { object: stored.object, revision: stored.revision };
}

function resourceIdOf(resource: { readonly group: string; readonly plural: string }): string {
  return `${resource.group === '' ? 'core' : resource.group}/${resource.plural}`;
}

function submitTxn(store: Store, request: TxnRequest): StagedTxn {
  try {
    return store.txn(request);
  } catch (error) {
    throw fromStore(error);
  }
}

async function settled({ cache }: CommitDeps, staged: StagedTxn): Promise<TxnResult> {
  try {
    const result = await staged.done;
    if (!result.ok && staged.staged !== undefined) cache.dropFrom(staged.staged);
    return result;
  } catch (error) {
    if (staged.staged !== undefined) cache.dropFrom(staged.staged);
    throw fromStore(error);
  }
}

/** Bumps fences without a condition and waits until the cache has seen it: what it shows then is at least as new as this moment. */
async function refresh(deps: CommitDeps, fences: readonly string[], signal: AbortSignal): Promise<void> {
  const staged = submitTxn(deps.store, {
    compares: [],
    puts: fences.map((key) => ({ key, value: new Uint8Array() })),
    deletes: [],
  });
  const result = await settled(deps, staged);
  if (result.ok) await deps.cache.waitFor(result.revision, signal);
}

/** After a lost race: the cache must show what won before it is judged again. */
async function catchUp(deps: CommitDeps, found: ReadonlyMap<string, number>, signal: AbortSignal): Promise<void> {
  const newest = Math.max(deps.store.revision(), ...found.values());
  const patience = new AbortController();
  const stop = deps.clock.after(RACE_DEADLINE_MS, () => patience.abort(busy()));
  try {
    await deps.cache.waitFor(newest, AbortSignal.any([signal, patience.signal]));
  } finally {
    stop();
  }
}

function busy(): ApiError {
  return new ApiError(
    'ServiceUnavailable',
    'the object is being changed by others faster than this write could be judged; try again',
    {
      details: { retryAfterSeconds: 1 },
    },
  );
}

/** A store failure as the API tells it. */
export function fromStore(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const options = { cause: error };
  switch (error.reason) {
    case 'NoSpace':
      return new ApiError('InsufficientStorage', 'the disk of the store is full; nothing was written', options);
    case 'TooLarge':
      return new ApiError('RequestEntityTooLarge', error.message, options);
    case 'UnknownOutcome':
      return new ApiError('Timeout', 'the store failed while writing: the write may or may not have happened', options);
    case 'Compacted':
      return new ApiError('Expired', 'The resourceVersion for the provided list is too old.', options);
    default:
      return new ApiError('ServiceUnavailable', `the store is not available: ${error.message}`, {
        ...options,
        details: { retryAfterSeconds: 1 },
      });
  }
}

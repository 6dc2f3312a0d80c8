import { ApiError, invalid } from '../../resources/meta/api-error.ts';
import { storedIn } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { authorizeObject } from '../auth/authorize.ts';
import type { WritePlan } from '../registry/commit.ts';
import { fromStore } from '../registry/store-failure.ts';
import { fromStorage } from '../registry/versions.ts';
import { assertReadable } from '../sealing/damage.ts';
import type { VerbContext } from '../verbs/verb-context.ts';
import {
  decodeKept,
  dueKey,
  encodeKept,
  KEPT_MS,
  type KeptAnswer,
  type KeptName,
  keptName,
  MAX_KEPT_ANSWERS,
  MAX_KEPT_BYTES,
} from './kept-answer.ts';

/** What a create answers: the object as it was made, and the warnings about what was sent. */
export interface Created {
  readonly object: KubeObject;
  /** Its encoding, where it was just written. */
  readonly bytes?: Uint8Array;
  readonly warnings: readonly string[];
}

/** What goes into the create's transaction, asked for whenever the create is thought out. */
export type Remember = (warnings: readonly string[]) => NonNullable<WritePlan['record']>;

/** Thrown out of a create's plan: somebody else writes, or wrote, an answer under the same key. Nothing was written. */
class AnsweredMeanwhile extends Error {}

/**
 * A create under an Idempotency-Key: the first makes the object, and every other one with the same body is answered what the first was, for
 * 24 hours, whatever became of the object. The answer is written in the transaction of the object, so there is never one without the other.
 * Refusals are not kept: the same request may be tried again. Throws `Invalid` for another body under the key.
 */
export async function createOnce(
  context: VerbContext,
  key: string,
  body: Uint8Array,
  make: (remember: Remember) => Promise<Created>,
): Promise<Created & { readonly replayed: boolean }> {
  const { parts, request, identity } = context;
  const { method, path, signal } = request;
  const name = keptName(identity, { method, path, key, body });
  for (;;) {
    const there = await fromStore(parts.store.get(name.key, signal));
    const kept = there && decodeKept(parts.cache.codec.open(name.key, there.value));
    const live = kept !== undefined && kept.dueMs > parts.clock.now();
    if (live && there !== undefined) return { ...replay(context, name, kept, there.modRevision), replayed: true };
    await checkRoom(context, name);
    const over = there?.modRevision ?? 0;
    await parts.cache.waitFor(over, signal);
    try {
      return { ...(await make((warnings) => record(context, name, over, warnings))), replayed: false };
    } catch (error) {
      if (!(error instanceof AnsweredMeanwhile)) throw error;
      // The other's write may still be undone.
      await parts.cache.confirmed();
      await parts.cache.caughtUp(signal);
    }
  }
}

function replay({ parts, served, identity }: VerbContext, name: KeptName, kept: KeptAnswer, revision: number): Created {
  if (kept.body !== name.body) {
    const message = 'Invalid value: the Idempotency-Key was used with another body';
    throw invalid({ group: '', kind: served.kind.kind }, '', [
      { reason: 'IdempotencyKeyReused', field: 'Idempotency-Key', message },
    ]);
  }
  const { object } = parts.cache.codec.decode(kept.at, kept.stored, kept.revision ?? revision);
  assertReadable(served.kind, object);
  const made = fromStorage(served.kind, object);
  authorizeObject(identity, served.kind, made);
  return { object: made, warnings: kept.warnings };
}

/** Keeps one identity from filling the store. */
async function checkRoom({ parts, request }: VerbContext, { shelf }: KeptName): Promise<void> {
  const { remaining } = await fromStore(parts.store.range({ prefix: shelf, limit: 0 }, request.signal));
  if (remaining < MAX_KEPT_ANSWERS) return;
  const why = `${remaining} answers are kept for Idempotency-Keys of yours, at most ${MAX_KEPT_ANSWERS} are`;
  throw new ApiError('TooManyRequests', why, { details: { retryAfterSeconds: 60 } });
}

function record(
  { parts, served }: VerbContext,
  { key, body }: KeptName,
  over: number,
  warnings: readonly string[],
): ReturnType<Remember> {
  if (parts.cache.fence(key) !== over) throw new AnsweredMeanwhile();
  const dueMs = parts.clock.now() + KEPT_MS;
  const { codec } = parts.cache;
  const home = storedIn(served.kind);
  return {
    key,
    revision: over,
    puts(at, stored) {
      if (stored.length > MAX_KEPT_BYTES) {
        const why = `limit is ${MAX_KEPT_BYTES} for an object made under an Idempotency-Key`;
        throw new ApiError('RequestEntityTooLarge', `Request entity too large: ${why}`);
      }
      return [
        // What the answer tells, and the digest of what was sent, are as secret as the object.
        { key, value: codec.seal(home, key, encodeKept({ body, dueMs, warnings, at, stored })) },
        { key: dueKey(dueMs, key), value: new Uint8Array() },
      ];
    },
  };
}

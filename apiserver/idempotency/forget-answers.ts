import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { ObjectCodec } from '../cache/object-codec.ts';
import { UnsealError } from '../sealing/unseal-error.ts';
import type { Store } from '../store/store.ts';
import { DUE, decodeKept, parseDueKey } from './kept-answer.ts';

const EVERY_MS = 10 * 60_000;
const PAGE = 200;

interface ForgetDeps {
  readonly store: Store;
  /** Answers about sealed objects are sealed too. */
  readonly codec: ObjectCodec;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Deletes answers that are no longer kept, every ten minutes until the signal aborts. */
export async function keepForgetting(deps: ForgetDeps, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await deps.clock.sleep(EVERY_MS, signal);
      await forgetDue(deps, signal).catch((error: unknown) => {
        if (!signal.aborted) deps.log.error('old answers not deleted', { error: String(error) });
      });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Deletes what is due now. Other servers may do the same at the same time. */
export async function forgetDue({ store, codec, clock }: Omit<ForgetDeps, 'log'>, signal: AbortSignal): Promise<void> {
  const nowMs = clock.now();
  let after: string | undefined;
  for (;;) {
    const page = { prefix: DUE, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const { entries, remaining } = await store.range(page, signal);
    for (const due of entries) {
      const { dueMs, key } = parseDueKey(due.key);
      if (dueMs > nowMs) return;
      await forget({ store, codec }, due, key, nowMs, signal);
    }
    after = entries.at(-1)?.key;
    if (remaining === 0) return;
  }
}

/** An answer that was written anew under the same key is due another time. */
async function forget(
  { store, codec }: Pick<ForgetDeps, 'store' | 'codec'>,
  due: { readonly key: string; readonly modRevision: number },
  key: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> {
  const answer = await store.get(key, signal);
  const over = answer !== undefined && dueOf(codec, answer) <= nowMs ? answer : undefined;
  const compares = [due, ...(over === undefined ? [] : [over])];
  await store.txn({
    compares: compares.map((entry) => ({ key: entry.key, revision: entry.modRevision })),
    puts: [],
    deletes: compares.map((entry) => entry.key),
  }).done;
}

/** One that cannot be opened answers nobody, so it may go. */
function dueOf(codec: ObjectCodec, { key, value }: { readonly key: string; readonly value: Uint8Array }): number {
  try {
    return decodeKept(codec.open(key, value)).dueMs;
  } catch (error) {
    if (error instanceof UnsealError) return 0;
    throw error;
  }
}
